/** Records and hidden classes, dumped as those of Graph. */
final class GraphOfRecords {
    record Point(int x, long y, String name) {
        static Point origin = new Point(0, 0, "origin");
    }

    record Pair<A, B>(A first, B second) {}

    public static void main(String[] arguments) throws Exception {
        Graph.add(new Point(1, -2, "a point"));
        Graph.add(Point.origin);
        Graph.add(new Pair<>(Point.origin, new int[] {1}));
        String captured = "captured";
        Runnable lambda = () -> System.out.println(captured);
        Graph.add(lambda);
        Graph.add(new Object[] {lambda.getClass(), Point.class});
        Graph.main(arguments);
    }
}

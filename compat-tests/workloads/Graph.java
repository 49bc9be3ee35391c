import java.util.function.Supplier;

/** Objects of many kinds, and a dump of them. */
final class Graph {
    static class Base {
        static Object staticObject = "static";
        long l = 1;
        Object o = this;
    }

    static class Derived extends Base {
        int[] ints = {1, -2, Integer.MAX_VALUE};
        Base[] others = {new Base(), null};
    }

    private static Object kept;

    public static void main(String[] arguments) throws Exception {
        Derived derived = new Derived();
        Supplier<Object> lambda = () -> derived;
        kept = new Object[] {
            derived, lambda, new boolean[1], new byte[2], new char[3], new short[4], new long[5], new float[6], new double[7],
            new int[0], new Base[0], new int[][] {{1}, null, {2, 3}}, new Base[2][3][0], int[].class, Graph.class,
        };
        Agent.call("heap heap");
        System.out.println("dumped");
        if (System.in.read() >= 0 || kept == null) {
            throw new IllegalStateException();
        }
    }
}

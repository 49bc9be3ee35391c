/** Allocates a few objects on the main thread, as the first thing it does. */
final class MainObjects {
    private static final int COUNT = 40;

    private static volatile Object kept;

    private static final class First {
        int number;
    }

    public static void main(String[] arguments) {
        for (int i = 0; i < COUNT; i++) {
            kept = new First();
        }
        System.out.println("expect kind=\"main thread\" counted=" + COUNT
                + " reported=" + Agent.call("count objects", First.class)
                + " sizes=" + Agent.call("sizes objects", First.class)
                + " size=" + Agent.call("size objects", First.class) + " payload=4");
    }
}

/** Ends while other threads allocate, and during a collection that one of them has asked for. */
final class LastEvents {
    private static final int ALLOCATORS = 16;
    private static volatile Object[] kept = new Object[ALLOCATORS];

    public static void main(String[] arguments) {
        for (int i = 0; i < ALLOCATORS; i++) {
            int place = i;
            start(() -> {
                while (true) {
                    kept[place] = new int[1];
                    Agent.call("step");
                }
            });
        }
        Await.until("threads that allocate", () -> Agent.call("") == ALLOCATORS);
        start(() -> Agent.call("collect"));
        // An allocating thread would wait for the end of the collection.
        String end = "end";
        Runtime runtime = Runtime.getRuntime();
        Agent.call(end);
        runtime.halt(0);
    }

    private static void start(Runnable run) {
        Thread thread = new Thread(run);
        thread.setDaemon(true);
        thread.start();
    }
}

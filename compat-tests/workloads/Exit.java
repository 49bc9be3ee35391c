/** Works on two threads for ever, and calls the agent. */
final class Exit {
    private static volatile long work;

    public static void main(String[] arguments) throws InterruptedException {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
        Thread busy = new Thread(() -> {
            while (true) {
                work++;
            }
        });
        busy.start();
        Agent.call("leave");
        busy.join();
    }
}

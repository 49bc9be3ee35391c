/** Ends while threads still work, in the way its argument says. */
final class ShutDown {
    private static volatile int started;

    public static void main(String[] arguments) throws InterruptedException {
        for (int i = 0; i < 3; i++) {
            Thread busy = new Thread(ShutDown::work, "busy");
            busy.setDaemon(true);
            busy.start();
        }
        Await.until("threads", () -> started > 10);
        System.out.println("out");
        System.err.println("err");
        switch (arguments[0]) {
            case "exit": System.exit(7); break;
            case "halt": Runtime.getRuntime().halt(8); break;
            case "throw": throw new IllegalStateException("thrown");
            default: // returns
        }
    }

    /** Starts threads, waits for monitors and allocates, for ever. */
    private static void work() {
        while (true) {
            Thread brief = new Thread(() -> {
                synchronized (ShutDown.class) {
                    started++;
                }
            });
            brief.start();
            try {
                brief.join();
            } catch (InterruptedException e) {
                return;
            }
        }
    }
}

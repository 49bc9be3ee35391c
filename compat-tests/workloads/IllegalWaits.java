/** Calls `wait` so that it throws an exception before it waits, and so that it waits. */
final class IllegalWaits {
    private static final int ROUNDS = 5;

    public static void main(String[] arguments) throws InterruptedException {
        Object monitor = new Object();
        Agent.call("watch monitor", monitor);
        for (int i = 0; i < ROUNDS; i++) {
            try {
                monitor.wait();
            } catch (IllegalMonitorStateException e) {
                // This thread is not the owner.
            }
            synchronized (monitor) {
                try {
                    monitor.wait(-1);
                } catch (IllegalArgumentException e) {
                    // The timeout is negative.
                }
                monitor.wait(1);
                Thread.currentThread().interrupt();
                try {
                    monitor.wait(1);
                } catch (InterruptedException e) {
                    // The VM reports the beginning and the end.
                }
            }
        }
        System.out.println("expect waits=" + 2 * ROUNDS);
    }
}

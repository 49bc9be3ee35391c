/** Contends for a monitor, waits in it and sleeps. */
public final class Monitors extends Thread {
    private static final Object MONITOR = new Object();

    private final boolean notifies;

    private Monitors(boolean notifies) {
        this.notifies = notifies;
    }

    public void run() {
        if (!notifies) {
            Conform.call("contender");
        }
        synchronized (MONITOR) {
            if (notifies) {
                MONITOR.notifyAll();
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Conform.call("monitor", MONITOR);
        Thread contender = new Monitors(false);
        synchronized (MONITOR) {
            contender.start();
            while (Conform.call("enters") == 0) {
                // Not a sleep, of which events would tell.
                Thread.yield();
            }
        }
        contender.join();
        Conform.call("contended");
        Conform.call("alone");
        synchronized (MONITOR) {
            contender = null;
        }
        Conform.call("not contended");
        Conform.call("alone");
        synchronized (MONITOR) {
            MONITOR.wait(20);
        }
        Conform.call("waited", 20);
        Conform.call("alone");
        synchronized (MONITOR) {
            new Monitors(true).start();
            MONITOR.wait();
        }
        Conform.call("notified");
        Conform.call("alone");
        Thread.sleep(15);
        Conform.call("slept", 15);
    }
}

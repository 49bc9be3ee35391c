import java.util.concurrent.locks.LockSupport;

/** Contends for a monitor, waits in it and sleeps. */
public final class Monitors extends Thread {
    private static final Object MONITOR = new Object();

    private final boolean notifies;
    /** The thread that it interrupts, or null. */
    private final Thread waiting;

    private Monitors(boolean notifies, Thread waiting) {
        this.notifies = notifies;
        this.waiting = waiting;
    }

    public void run() {
        if (!notifies && waiting == null) {
            Conform.call("contender");
        }
        synchronized (MONITOR) {
            if (notifies) {
                MONITOR.notifyAll();
            } else if (waiting != null) {
                waiting.interrupt();
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Conform.call("monitor", MONITOR);
        Thread contender = new Monitors(false, null);
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
            new Monitors(true, null).start();
            MONITOR.wait();
        }
        Conform.call("notified");
        Conform.call("alone");
        synchronized (MONITOR) {
            new Monitors(false, Thread.currentThread()).start();
            try {
                MONITOR.wait(3000000);
            } catch (InterruptedException expected) {
                Conform.call("interrupted", 3000000);
            }
        }
        Conform.call("alone");
        Thread.sleep(0);
        LockSupport.parkNanos(1000000);
        Conform.call("not contended");
        try {
            MONITOR.wait(1);
        } catch (IllegalMonitorStateException expected) {
            Conform.call("alone");
        }
        Conform.call("alone");
        Thread.sleep(15);
        Conform.call("slept", 15);
        Conform.call("alone");
        Thread.sleep(14, 700000);
        Conform.call("slept", 15);
    }
}

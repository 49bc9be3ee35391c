import java.util.concurrent.locks.LockSupport;

/** Waits in every way there is, and says for how long. */
final class Waits {
    private static final Object MONITOR = new Object();
    private static boolean waiting;

    interface Body {
        void run() throws InterruptedException;
    }

    public static void main(String[] arguments) throws InterruptedException {
        Agent.call("watch monitor", MONITOR);
        timed("timed", () -> {
            synchronized (MONITOR) {
                MONITOR.wait(60);
            }
        });
        timed("sleep", () -> Thread.sleep(70));
        timed("sleep_nanos", () -> Thread.sleep(40, 700_000));
        timed("sleep_zero", () -> Thread.sleep(0));
        timed("park", () -> LockSupport.parkNanos(50_000_000));

        Thread waiter = new Thread(Waits::untilNotified, "notified");
        start(waiter);
        synchronized (MONITOR) {
            MONITOR.notifyAll();
        }
        waiter.join();

        Thread interrupted = new Thread(Waits::untilInterrupted, "interrupted");
        start(interrupted);
        interrupted.interrupt();
        interrupted.join();

        Thread sleeper = new Thread(Waits::sleep, "sleeper");
        sleeper.start();
        Await.state(sleeper, Thread.State.TIMED_WAITING);
        sleeper.interrupt();
        sleeper.join();

        Thread notOwner = new Thread(Waits::withoutOwning, "not_owner");
        notOwner.start();
        notOwner.join();
    }

    private static void timed(String name, Body body) throws InterruptedException {
        long[] nanos = new long[1];
        Thread thread = new Thread(() -> {
            long begin = System.nanoTime();
            try {
                body.run();
            } catch (InterruptedException interrupted) {
                throw new IllegalStateException(interrupted);
            }
            nanos[0] = System.nanoTime() - begin;
        }, name);
        thread.start();
        thread.join();
        System.out.println("expect thread=" + name + " millis=" + nanos[0] / 1_000_000);
    }

    private static void start(Thread thread) {
        waiting = false;
        thread.start();
        Await.state(thread, thread.getName().equals("notified") ? Thread.State.WAITING : Thread.State.TIMED_WAITING);
        synchronized (MONITOR) {
            if (!waiting) {
                throw new IllegalStateException(thread.getName() + " waits elsewhere");
            }
        }
    }

    private static void untilNotified() {
        synchronized (MONITOR) {
            waiting = true;
            try {
                MONITOR.wait();
            } catch (InterruptedException interrupted) {
                throw new IllegalStateException(interrupted);
            }
        }
    }

    private static void untilInterrupted() {
        synchronized (MONITOR) {
            waiting = true;
            try {
                MONITOR.wait(100_000);
                throw new IllegalStateException("not interrupted");
            } catch (InterruptedException interrupted) {
                System.out.println("expect thread=interrupted");
            }
        }
    }

    private static void sleep() {
        try {
            Thread.sleep(100_000);
            throw new IllegalStateException("not interrupted");
        } catch (InterruptedException interrupted) {
            System.out.println("expect thread=sleeper");
        }
    }

    private static void withoutOwning() {
        try {
            MONITOR.wait(1);
            throw new IllegalStateException("waited");
        } catch (IllegalMonitorStateException | InterruptedException refused) {
            System.out.println("expect thread=not_owner");
        }
    }
}

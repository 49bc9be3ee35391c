import java.io.IOException;
import java.net.ServerSocket;
import java.util.concurrent.locks.LockSupport;

/** Keeps a thread in each state for some milliseconds, and prints for how long each was in its state. */
final class WallStates {
    private static final Object MONITOR = new Object();
    private static final Object CONDITION = new Object();
    private static volatile boolean over;
    private static volatile long work;

    private static Thread start(String name, Await.Body body) {
        return Await.start(name, () -> {
            try {
                body.run();
            } catch (InterruptedException | IOException e) {
                // The end: an interrupt, or the socket was closed.
                work++;
            }
        });
    }

    private static long next(long count) {
        return count + 1;
    }

    private static void spin() {
        while (!over) {
            work = next(work);
        }
    }

    private static void park() {
        while (!over) {
            LockSupport.park(MONITOR);
        }
    }

    private static void sleep() throws InterruptedException {
        Thread.sleep(Long.MAX_VALUE);
    }

    private static void block() {
        synchronized (MONITOR) {
            work++;
        }
    }

    private static void await() throws InterruptedException {
        synchronized (CONDITION) {
            while (!over) {
                CONDITION.wait();
            }
        }
    }

    private static boolean isInNativeCode(Thread thread) {
        StackTraceElement[] trace = thread.getStackTrace();
        return trace.length > 3 && trace[0].isNativeMethod();
    }

    public static void main(String[] arguments) throws Exception {
        long begun = System.nanoTime();
        ServerSocket socket = new ServerSocket(0);
        Thread[] threads;
        long held;
        synchronized (MONITOR) {
            Thread running = start("running", WallStates::spin);
            Thread parked = start("parked", WallStates::park);
            Thread sleeping = start("sleeping", WallStates::sleep);
            Thread blocked = start("blocked", WallStates::block);
            Thread waiting = start("waiting", WallStates::await);
            Thread accepting = start("native", socket::accept);
            threads = new Thread[] {running, parked, sleeping, blocked, waiting, accepting};
            Await.until("work", () -> work > 0);
            Await.state(parked, Thread.State.WAITING);
            Await.state(sleeping, Thread.State.TIMED_WAITING);
            Await.state(blocked, Thread.State.BLOCKED);
            Await.state(waiting, Thread.State.WAITING);
            Await.until("accept", () -> isInNativeCode(accepting));
            held = System.nanoTime();
            Thread.sleep(Long.parseLong(arguments[0]));
            held = System.nanoTime() - held;
            over = true;
            LockSupport.unpark(parked);
            sleeping.interrupt();
            socket.close();
            synchronized (CONDITION) {
                CONDITION.notify();
            }
        }
        Await.join(threads);
        long life = System.nanoTime() - begun;
        System.out.println("expect held=" + held / 1_000_000 + " life=" + life / 1_000_000);
        System.out.println("done");
    }
}

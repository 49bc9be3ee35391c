import java.net.ServerSocket;
import java.util.concurrent.locks.LockSupport;

/** Brings a thread into every state and prints the agent's status of it. */
final class Status {
    private static final Object LOCK = new Object();
    private static volatile long work;

    interface Body {
        void run() throws Exception;
    }

    private static Thread start(String name, Body body) {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** The zero VM stops a thread when it returns from a call, not when it jumps backwards. */
    private static long next(long count) {
        return count + 1;
    }

    private static void spin() {
        while (true) {
            work = next(work);
        }
    }

    private static void print(String name) {
        Await.until("THREAD_START of " + name, () -> Agent.call(name) >= 0);
        System.out.println("expect thread=" + name + " status=" + Agent.call(name));
    }

    public static void main(String[] arguments) throws Exception {
        print("self");

        start("spinning", Status::spin);
        Thread interrupted = start("interrupted", Status::spin);
        interrupted.interrupt();
        long before = work;
        Await.until("work", () -> work != before);
        print("spinning");
        print("interrupted");

        start("accepting", () -> new ServerSocket(0).accept());
        print("accepting");

        synchronized (LOCK) {
            Await.state(start("blocked", () -> {
                synchronized (LOCK) {
                    work++;
                }
            }), Thread.State.BLOCKED);
            print("blocked");
        }

        Await.state(start("waiting", () -> {
            synchronized (Status.class) {
                Status.class.wait();
            }
        }), Thread.State.WAITING);
        print("waiting");

        Await.state(start("waiting-timed", () -> {
            synchronized (Status.class) {
                Status.class.wait(3_600_000);
            }
        }), Thread.State.TIMED_WAITING);
        print("waiting-timed");

        Await.state(start("sleeping", () -> Thread.sleep(3_600_000)), Thread.State.TIMED_WAITING);
        print("sleeping");

        Await.state(start("parked", LockSupport::park), Thread.State.WAITING);
        print("parked");

        suspendFromJava();
    }

    /** Newer JDKs refuse, or no longer have the method. */
    private static void suspendFromJava() {
        Thread thread = start("suspended", Status::spin);
        try {
            Thread.class.getMethod("suspend").invoke(thread);
        } catch (ReflectiveOperationException refused) {
            return;
        }
        print("suspended");
    }
}

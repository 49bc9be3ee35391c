import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;

/** Needs memory while the agent has disabled collections. */
final class Holding {
    private static final int ARRAYS = 2_000, LENGTH = 100_000;
    private static volatile Object kept;

    private static final GarbageCollectorMXBean[] COLLECTORS =
            ManagementFactory.getGarbageCollectorMXBeans().toArray(new GarbageCollectorMXBean[0]);

    /** What the JVM has counted: collections, and pauses of those that run beside the program. Needs no memory. */
    static long collections() {
        long sum = 0;
        for (GarbageCollectorMXBean collector : COLLECTORS) {
            sum += collector.getCollectionCount();
        }
        return sum;
    }

    /** Makes more garbage than there is memory. */
    static long churn() {
        for (int i = 0; i < ARRAYS; i++) {
            kept = new byte[LENGTH];
        }
        return ARRAYS;
    }

    /** Sleeps, and computes, which needs no memory, each longer than the shim takes to give up the hold. */
    static long compute() throws InterruptedException {
        Thread.sleep(200);
        long computed = 0;
        for (long end = System.nanoTime() + 300_000_000; System.nanoTime() < end;) {
            computed++;
        }
        return computed;
    }

    private static Thread churner() {
        Thread thread = new Thread(() -> {
            while (Agent.call("may_churn") == 0) {
                Thread.yield();
            }
            System.gc();
            churn();
            Agent.call("churned");
        });
        thread.start();
        return thread;
    }

    /** Another thread needs memory. */
    private static void hold() throws InterruptedException {
        Thread churner = churner();
        byte[] array = new byte[100];
        array[0] = 1;
        Agent.call("hold", array);
        churner.join();
        System.out.println("expect element=" + array[0] + " shown=" + Agent.call("shown"));
    }

    /** The thread itself that has disabled collections needs one, or waits for a thread that does. */
    private static void need() throws InterruptedException {
        System.out.println("expect native=" + Agent.call("allocate"));
        System.out.println("expect java=" + Agent.call("java"));
        Thread churner = churner();
        System.out.println("expect critical=" + Agent.call("critical", new byte[100]));
        churner.join();
        Agent.call("again");
        long[] owned = new long[1];
        Thread owner = new Thread(() -> owned[0] = Agent.call("own"));
        owner.start();
        System.out.println("expect monitor=" + Agent.call("monitor"));
        owner.join();
        System.out.println("expect owned=" + owned[0]);
        // Between two calls of the agent the program itself runs.
        Agent.call("disable");
        churn();
        System.gc();
        Agent.call("enable");
        Thread ended = new Thread(() -> Agent.call("disable"));
        ended.start();
        ended.join();
        churn();
        Agent.call("enable");
    }

    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "attached":
                System.out.println("ready");
                while (System.in.read() >= 0) {}
                hold();
                break;
            case "hold": hold(); break;
            case "virtual": {
                Runnable hold = () -> {
                    try {
                        hold();
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                };
                // The workload is compiled for older JDKs too.
                ((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, hold)).join();
                break;
            }
            case "need": need(); break;
            case "threads": System.out.println("expect threads=" + Agent.call("threads")); break;
            default: throw new IllegalArgumentException(arguments[0]);
        }
    }
}

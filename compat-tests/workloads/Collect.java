import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.function.BooleanSupplier;

/** Requests collections, and prints the figures of the JVM and of the agent. */
final class Collect {
    private static final int OBJECTS = 200_000, REQUESTS = 3, YOUNG = 6;
    private static volatile Object kept;

    private static final class Dropped {
        int number;
    }

    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "count": count(); break;
            case "figures": figures(); break;
            case "critical": critical(); break;
            default: throw new IllegalArgumentException(arguments[0]);
        }
    }

    /** Collections as the JVM counts them: pauses and phases of concurrent collectors are none. */
    private static long collections() {
        long sum = 0;
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            if (!bean.getName().contains("Pauses") && !bean.getName().contains("Concurrent")) {
                sum += bean.getCollectionCount();
            }
        }
        return sum;
    }

    /** Collections that the JVM has counted, and brackets that the agent was sent, at a moment between two. */
    private static final class Counts {
        final long collections, brackets;

        private Counts(long collections, long brackets) {
            this.collections = collections;
            this.brackets = brackets;
        }

        /** Waits until the agent has all events, and nothing has happened meanwhile. */
        static Counts settled() throws InterruptedException {
            long collections, brackets;
            do {
                collections = collections();
                brackets = Agent.call("brackets");
                Thread.sleep(300);
            } while (Agent.call("brackets") != brackets || collections() != collections);
            return new Counts(collections, brackets);
        }

        String since(Counts before) {
            return "collections=" + (collections - before.collections)
                    + " brackets=" + (brackets - before.brackets);
        }
    }

    /** Returns true if the condition comes true within 5 s. */
    private static boolean within5s(BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + 5_000_000_000L;
        while (!condition.getAsBoolean() && System.nanoTime() < end) {
            Thread.sleep(1);
        }
        return condition.getAsBoolean();
    }

    private static void count() throws InterruptedException {
        System.gc();
        Counts before = Counts.settled();
        while (collections() < before.collections + YOUNG) {
            kept = new byte[100_000];
        }
        // The JVM counts when a collection ends, which is after the objects are gone.
        long counted = collections() - before.collections, brackets = before.brackets;
        within5s(() -> Agent.call("brackets") - brackets >= counted);
        Counts young = Counts.settled();
        System.out.println("expect phase=young " + young.since(before));

        long answered = 0;
        for (int i = 0; i < REQUESTS; i++) {
            long asked = Agent.call("brackets");
            System.gc();
            answered += within5s(() -> Agent.call("brackets") > asked) ? 1 : 0;
        }
        System.out.println("expect phase=requested requests=" + REQUESTS + " answered=" + answered + " "
                + Counts.settled().since(young));
    }

    /** Parallel's full collections: the JVM also counts the young one before each. */
    private static long countedTwice() {
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            if (bean.getName().equals("PS MarkSweep")) {
                return bean.getCollectionCount();
            }
        }
        return 0;
    }

    /** Asks for a collection while another thread has the elements of an array, which keeps the JVM from it. */
    private static void critical() throws Exception {
        Counts before = Counts.settled();
        long twice = countedTwice();
        Thread holder = new Thread(() -> Agent.call("hold", new byte[100]));
        holder.start();
        Await.until("the elements", () -> Agent.call("holds") == 1);
        Thread asks = new Thread(System::gc);
        asks.start();
        // The test ends the input when the JVM has found that it cannot collect.
        Await.endOfInput();
        Agent.call("release");
        asks.join();
        holder.join();
        System.out.println("expect " + Counts.settled().since(before) + " twice=" + (countedTwice() - twice));
    }

    private static Dropped[] make(int count) {
        Dropped[] objects = new Dropped[count];
        for (int i = 0; i < count; i++) {
            objects[i] = new Dropped();
        }
        return objects;
    }

    private static void figures() {
        kept = make(OBJECTS);
        Agent.call("run_gc");
        Runtime runtime = Runtime.getRuntime();
        long used = runtime.totalMemory() - runtime.freeMemory(), total = runtime.totalMemory();
        System.out.println("expect what=used vm=" + used + " agent=" + Agent.call("used_space"));
        System.out.println("expect what=total vm=" + total + " agent=" + Agent.call("total_space"));
        System.out.println("expect what=objects vm=" + Agent.call("alive") + " agent=" + Agent.call("used_objects"));
    }
}

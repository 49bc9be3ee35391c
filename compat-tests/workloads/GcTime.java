import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** Has much that lives collected, and prints how long that took, in microseconds. */
final class GcTime {
    private static final int OBJECTS = 500_000, COLLECTIONS = 4;

    private static final class Link {
        final Link next;

        Link(Link next) {
            this.next = next;
        }
    }

    /** Returns the time of pauses according to the JVM: cycles of concurrent collectors are no pauses. */
    private static long pauses() {
        long sum = 0;
        boolean tellsPauses = false;
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            tellsPauses |= bean.getName().endsWith("Pauses");
        }
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            if (!tellsPauses || bean.getName().endsWith("Pauses")) {
                sum += bean.getCollectionTime();
            }
        }
        return sum * 1000;
    }

    public static void main(String[] arguments) {
        Link links = null;
        for (int i = 0; i < OBJECTS; i++) {
            links = new Link(links);
        }
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        threads.getCurrentThreadCpuTime();
        Agent.call("mine");
        long pauses = pauses(), told = Agent.call("in_collections");
        long cpu = threads.getCurrentThreadCpuTime(), clock = Agent.call("time"), time = System.nanoTime();
        for (int i = 0; i < COLLECTIONS; i++) {
            Agent.call("run_gc");
        }
        time = System.nanoTime() - time;
        clock = Agent.call("time") - clock;
        cpu = threads.getCurrentThreadCpuTime() - cpu;
        told = Agent.call("in_collections") - told;
        pauses = pauses() - pauses;
        System.out.println("expect pauses=" + pauses + " told=" + told / 1000 + " clock=" + clock / 1000
                + " cpu=" + cpu / 1000 + " elapsed=" + time / 1000 + " wrong=" + Agent.call("wrong")
                + " first=" + (links.next != null));
    }
}

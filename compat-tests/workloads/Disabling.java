import java.util.concurrent.atomic.AtomicLongArray;

/** Disables events, as often as the argument says, while threads cause them. */
final class Disabling {
    private static final int THREADS = 4;
    private static final AtomicLongArray STEPS = new AtomicLongArray(THREADS);
    private static volatile boolean over;
    private static volatile Object kept;

    public static void main(String[] arguments) throws InterruptedException {
        Thread[] threads = Await.startAll(THREADS, "steps-", number -> {
            while (!over) {
                step();
                STEPS.incrementAndGet(number);
            }
        });
        for (int round = Integer.parseInt(arguments[0]); round > 0; round--) {
            Agent.call("enable");
            Await.until("events", () -> Agent.call("come") > THREADS);
            Agent.call("disable");
            allStep();
            Agent.call("report");
        }
        over = true;
        Await.join(threads);
    }

    private static void step() {
        kept = new Object();
    }

    /** Returns when each thread has ended the step that it was making, and made another. */
    private static void allStep() {
        for (int i = 0; i < THREADS; i++) {
            int number = i;
            long before = STEPS.get(number);
            Await.until("a step", () -> STEPS.get(number) >= before + 2);
        }
    }
}

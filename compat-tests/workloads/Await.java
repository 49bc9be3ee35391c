import java.util.function.BooleanSupplier;

/** Waits for conditions without a limit: the test kills a process that hangs. */
final class Await {
    /** The time after which it prints what it waits for: much longer than usual. */
    private static final long LONG_NANOS = 20_000_000_000L;

    private Await() {}

    static void until(String what, BooleanSupplier condition) {
        long begun = System.nanoTime();
        boolean isTold = false;
        while (!condition.getAsBoolean()) {
            if (!isTold && System.nanoTime() - begun > LONG_NANOS) {
                System.err.println("still waiting for: " + what);
                isTold = true;
            }
            Thread.yield();
        }
    }

    static void state(Thread thread, Thread.State state) {
        until(thread.getName() + " to be " + state, () -> thread.getState() == state);
    }
}

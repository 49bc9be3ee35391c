import java.util.function.BooleanSupplier;

/** Waits for conditions, but not for ever. */
final class Await {
    private static final long PATIENCE_NANOS = 20_000_000_000L;

    private Await() {}

    static void until(String what, BooleanSupplier condition) {
        long end = System.nanoTime() + PATIENCE_NANOS;
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("waited in vain for: " + what);
            }
            Thread.yield();
        }
    }

    static void state(Thread thread, Thread.State state) {
        until(thread.getName() + " to be " + state, () -> thread.getState() == state);
    }
}

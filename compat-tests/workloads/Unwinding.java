import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Measures the processor time of an exception by its depth: it passes a handler in each frame. The arguments are the
 * depths.
 */
final class Unwinding {
    private static final int ROUNDS = 5;

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private static int passed;

    static final class Chain {
        Chain(int depth, RuntimeException exception, Error error) {
            try {
                if (depth > 0) {
                    new Chain(depth - 1, exception, error);
                }
                fail(exception, error);
            } finally {
                passed++;
            }
        }
    }

    private static void method(int depth, RuntimeException exception, Error error) {
        try {
            if (depth > 0) {
                method(depth - 1, exception, error);
            }
            fail(exception, error);
        } finally {
            passed++;
        }
    }

    private static void fail(RuntimeException exception, Error error) {
        if (error != null) {
            throw error;
        }
        throw exception;
    }

    /** Returns the nanoseconds for each frame. */
    private static long measure(boolean constructs, boolean overflows, int depth) {
        RuntimeException exception = overflows ? null : new IllegalStateException();
        Error error = overflows ? new StackOverflowError() : null;
        long began = THREADS.getCurrentThreadCpuTime();
        try {
            if (constructs) {
                new Chain(depth, exception, error);
            } else {
                method(depth, exception, error);
            }
        } catch (IllegalStateException | StackOverflowError e) {
            passed++;
        }
        return (THREADS.getCurrentThreadCpuTime() - began) / depth;
    }

    private static void measureAll(String[] depths) {
        for (int kind = 0; kind < 4; kind++) {
            boolean constructs = kind % 2 == 1;
            boolean overflows = kind >= 2;
            for (String depth : depths) {
                long least = Long.MAX_VALUE;
                for (int round = 0; round < ROUNDS; round++) {
                    least = Math.min(least, measure(constructs, overflows, Integer.parseInt(depth)));
                }
                System.out.println("expect passes=" + (constructs ? "constructors" : "methods") + " exception="
                    + (overflows ? "StackOverflowError" : "IllegalStateException") + " depth=" + depth + " ns=" + least);
            }
        }
    }

    public static void main(String[] depths) throws InterruptedException {
        Thread thread = new Thread(null, () -> measureAll(depths), "unwinding", 64 << 20);
        thread.start();
        thread.join();
    }
}

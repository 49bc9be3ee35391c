import java.io.IOException;
import java.util.Arrays;
import java.util.function.BooleanSupplier;
import java.util.function.IntConsumer;

/** Threads, and waits for conditions without a limit: the test kills a process that hangs. */
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

    /** What a thread does: an exception is a failure. */
    interface Body {
        void run() throws Exception;
    }

    static Thread start(String name, Body body) {
        Thread thread = new Thread(() -> run(body), name);
        thread.start();
        return thread;
    }

    static void run(Body body) {
        try {
            body.run();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** Starts this many threads, each with the name and its number. */
    static Thread[] startAll(int count, String name, IntConsumer body) {
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            int number = i;
            threads[i] = start(name + number, () -> body.accept(number));
        }
        return threads;
    }

    static void join(Thread... threads) throws InterruptedException {
        join(Arrays.asList(threads));
    }

    static void join(Iterable<Thread> threads) throws InterruptedException {
        for (Thread thread : threads) {
            thread.join();
        }
    }

    /** The contents of the input do not matter. */
    static void endOfInput() throws IOException {
        while (System.in.read() >= 0);
    }

    static Thread atEndOfInput(Runnable body) {
        return start("reader", () -> {
            endOfInput();
            body.run();
        });
    }

    static void state(Thread thread, Thread.State state) {
        until(thread.getName() + " to be " + state, () -> thread.getState() == state);
    }
}

import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.LongAdder;

/**
 * Short virtual threads, some at a time; each makes calls before and after it has let others run, so that
 * it may continue on another carrier.
 */
final class VirtualThreads {
    private static final int AT_A_TIME = 200;

    private static final LongAdder CALLS = new LongAdder(), SUM = new LongAdder();

    public static void main(String[] arguments) throws InterruptedException {
        int threads = Integer.parseInt(arguments[0]);
        Semaphore places = new Semaphore(AT_A_TIME);
        long before = 0;
        for (int i = 0; i < threads; i++) {
            if (i == threads / 4) {
                before = memory();
            }
            places.acquire();
            Thread.ofVirtual().start(() -> {
                try {
                    outer(3);
                } finally {
                    places.release();
                }
            });
        }
        places.acquire(AT_A_TIME);
        System.out.println("expect threads=" + threads + " calls=" + CALLS + " grown=" + (memory() - before));
    }

    private static void outer(int depth) {
        CALLS.increment();
        if (depth > 0) {
            inner(depth);
            outer(depth - 1);
        }
    }

    private static void inner(int depth) {
        CALLS.increment();
        Thread.yield();
        SUM.add(depth);
    }

    /** The resident memory of the process, in KB. */
    private static long memory() {
        try {
            for (String line : java.nio.file.Files.readAllLines(java.nio.file.Path.of("/proc/self/status"))) {
                if (line.startsWith("VmRSS:")) {
                    return Long.parseLong(line.replaceAll("[^0-9]", ""));
                }
            }
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
        return 0;
    }
}

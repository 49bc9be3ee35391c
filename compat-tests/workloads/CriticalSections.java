import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.Deflater;

/**
 * Asks for dumps while the heap is nearly full, beside threads that are in JNI critical sections most of the time,
 * where the VM cannot collect, and threads that wait. The argument is the number of dumps of each kind.
 */
final class CriticalSections {
    private static final int WAITING = 16;
    private static final int CHUNK = 1 << 16;
    /** The number of bytes of the heap that stay free. */
    private static final int FREE = 1 << 20;

    public static void main(String[] arguments) {
        int dumps = Integer.parseInt(arguments[0]);
        AtomicInteger compressing = new AtomicInteger();
        for (int i = 0; i < 3; i++) {
            start("compresses " + i, () -> compress(compressing));
        }
        for (int i = 0; i < WAITING; i++) {
            Await.state(start("waits " + i, CriticalSections::waitForEver), Thread.State.WAITING);
        }
        Await.until("threads to compress", () -> compressing.get() > 10);
        ArrayDeque<byte[]> filling = fill();
        for (int i = 0; i < dumps; i++) {
            long result = Agent.call("both");
            if (result != 0) {
                throw new IllegalStateException("dump " + i + ": " + result);
            }
        }
        System.out.println("expect dumps=" + dumps + " chunks=" + filling.size());
    }

    private static ArrayDeque<byte[]> fill() {
        ArrayDeque<byte[]> chunks = new ArrayDeque<>(1 << 12);
        try {
            for (;;) {
                chunks.add(new byte[CHUNK]);
            }
        } catch (OutOfMemoryError full) {
            for (int i = 0; i < FREE / CHUNK; i++) {
                chunks.poll();
            }
        }
        return chunks;
    }

    private static Thread start(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private static void compress(AtomicInteger count) {
        byte[] input = new byte[1 << 20];
        new java.util.Random(1).nextBytes(input);
        byte[] output = new byte[1 << 20];
        Deflater deflater = new Deflater(Deflater.BEST_COMPRESSION);
        for (;;) {
            deflater.reset();
            deflater.setInput(input);
            deflater.finish();
            deflater.deflate(output);
            count.incrementAndGet();
        }
    }

    private static void waitForEver() {
        Object monitor = new Object();
        synchronized (monitor) {
            Await.run(monitor::wait);
        }
    }
}

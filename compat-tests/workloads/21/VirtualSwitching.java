import java.util.concurrent.atomic.AtomicLong;

/** Virtual threads are mounted and unmounted all the time, while what code reports is switched on and off. */
final class VirtualSwitching {
    private static final int THREADS = 4;
    private static final int ROUNDS = 5;
    private static final AtomicLong yields = new AtomicLong();
    private static volatile boolean stop;

    public static void main(String[] arguments) throws InterruptedException {
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            threads[i] = Thread.ofVirtual().start(VirtualSwitching::yields);
        }
        for (int i = 0; i < ROUNDS; i++) {
            await();
            Agent.call("enable 1+3");
            await();
            Agent.call("disable 1+3");
        }
        stop = true;
        Await.join(threads);
        System.out.println("expect rounds=" + ROUNDS);
    }

    private static void yields() {
        while (!stop) {
            Thread.yield();
            yields.incrementAndGet();
        }
    }

    /** Until all have been mounted again. */
    private static void await() {
        long enough = yields.get() + 100 * THREADS;
        while (yields.get() < enough) {
            Thread.onSpinWait();
        }
    }
}

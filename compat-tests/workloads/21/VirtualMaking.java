import java.lang.management.ManagementFactory;
import java.util.concurrent.CountDownLatch;

/** Requests heap dumps beside many threads: while one of them stays in the constructor of a virtual thread, and after that. */
final class VirtualMaking {
    private static final int THREADS = 500;
    private static final CountDownLatch IN_CONSTRUCTOR = new CountDownLatch(1);
    private static final CountDownLatch RELEASED = new CountDownLatch(1);

    private static final InheritableThreadLocal<Integer> WAITING = new InheritableThreadLocal<>() {
        @Override
        protected Integer childValue(Integer value) {
            IN_CONSTRUCTOR.countDown();
            Await.run(RELEASED::await);
            return value;
        }
    };

    public static void main(String[] arguments) throws InterruptedException {
        for (int i = 0; i < THREADS; i++) {
            Thread.ofPlatform().daemon().start(() -> Await.run(new CountDownLatch(1)::await));
        }
        Thread making = Thread.ofPlatform().start(() -> {
            WAITING.set(1);
            Thread.ofVirtual().unstarted(() -> {});
        });
        IN_CONSTRUCTOR.await();
        var threads = ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadCpuTime();
        long during = Agent.call("heap");
        long cpu = threads.getCurrentThreadCpuTime() - before;
        RELEASED.countDown();
        making.join();
        System.out.printf("expect during=%d after=%d cpu=%d%n", during, Agent.call("heap"), cpu / 1_000_000);
    }
}

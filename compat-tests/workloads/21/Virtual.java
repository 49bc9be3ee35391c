import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.ReentrantLock;

/** A thousand virtual threads that compute, sleep, wait for monitors and for locks. */
final class Virtual {
    private static final Object MONITOR = new Object();
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static long inMonitor, inLock;

    public static void main(String[] arguments) throws Exception {
        int threads = 1000;
        long sum = 0;
        try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Long>> results = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                long number = i;
                results.add(executor.submit(() -> work(number)));
            }
            for (Future<Long> result : results) {
                sum += result.get();
            }
        }
        System.out.println("expect sum=" + sum + " monitor=" + inMonitor + " lock=" + inLock);
    }

    private static long work(long number) throws InterruptedException {
        Thread.currentThread().setName("virtual-" + number);
        long x = number;
        for (int i = 0; i < 2000; i++) {
            x = x * 31 + i;
        }
        Thread.sleep(1);
        synchronized (MONITOR) {
            inMonitor++;
        }
        LOCK.lock();
        try {
            inLock++;
        } finally {
            LOCK.unlock();
        }
        return x == Long.MIN_VALUE ? 0 : number;
    }
}

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** Has threads wait in every way that java.util.concurrent has, each of them once. */
final class Parks {
    private static final int THREADS = 4, ROUNDS = 3;

    public static void main(String[] arguments) throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            ReentrantLock lock = new ReentrantLock();
            lock.lock();
            stage("lock", () -> {
                lock.lock();
                lock.unlock();
            }, lock::unlock);

            Condition condition = lock.newCondition();
            stage("condition", () -> {
                lock.lock();
                condition.await();
                lock.unlock();
            }, () -> {
                for (int i = 0; i < THREADS; i++) {
                    // One at a time: a thread that finds the lock owned parks again.
                    int left = THREADS - i - 1;
                    lock.lock();
                    condition.signal();
                    lock.unlock();
                    Await.until("one to go on", () -> alive() == left);
                }
            });

            CountDownLatch latch = new CountDownLatch(1);
            stage("latch", latch::await, latch::countDown);

            LinkedBlockingQueue<String> queue = new LinkedBlockingQueue<>();
            stage("queue", queue::take, () -> {
                for (int i = 0; i < THREADS; i++) {
                    int left = THREADS - i - 1;
                    queue.put("element");
                    Await.until("one to go on", () -> alive() == left);
                }
            });
        }

        Object blocker = new Object();
        Agent.call("watch blocker", blocker);
        long until = System.currentTimeMillis() + 100_000;
        one("nanos", () -> LockSupport.parkNanos(blocker, 100_000_000_000L));
        one("until", () -> LockSupport.parkUntil(blocker, until));
        one("ever", () -> LockSupport.park(blocker));
        one("nothing", LockSupport::park);
        one("sleep", () -> {
            try {
                TimeUnit.DAYS.sleep(1);
            } catch (InterruptedException interrupted) {
                return;
            }
        });
        LockSupport.parkNanos(blocker, -1);
        LockSupport.parkUntil(blocker, 1);
        over = true;
        System.out.println("expect threads=" + THREADS + " rounds=" + ROUNDS);
    }

    private static List<Thread> threads = new ArrayList<>();

    private static long alive() {
        return threads.stream().filter(Thread::isAlive).count();
    }

    /** The first thread shows what the others will wait for. */
    private static void stage(String name, Await.Body wait, Await.Body end) throws Exception {
        threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            Thread thread = Await.start((i == 0 ? "first-" : "other-") + name, wait);
            threads.add(thread);
            Await.until(name + " to park", () -> parks(thread));
            if (i == 0) {
                Agent.call("watch " + name, LockSupport.getBlocker(thread));
            }
        }
        end.run();
        Await.join(threads);
    }

    private static boolean parks(Thread thread) {
        return thread.getState() == Thread.State.WAITING && LockSupport.getBlocker(thread) != null;
    }

    private static volatile boolean over;
    private static volatile int gone;

    /**
     * Ends a wait by an interrupt. The thread lives on: what an interrupt has left to one that has ended, JDK 11 may
     * give to a new one, which does not wait then.
     */
    private static void one(String name, Await.Body wait) {
        int before = gone;
        Thread thread = Await.start(name, () -> {
            wait.run();
            gone = before + 1;
            while (!over) {
                Thread.yield();
            }
        });
        Await.until(name + " to wait", () -> thread.getState() == Thread.State.WAITING
                || thread.getState() == Thread.State.TIMED_WAITING);
        thread.interrupt();
        Await.until(name + " to go on", () -> gone > before);
    }
}

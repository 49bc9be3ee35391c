import java.util.ArrayList;
import java.util.List;

/** Virtual threads that make calls in a monitor, after a wait for it, and after a notification. */
final class VirtualCalls {
    private static final int THREADS = 20;
    private static final int ROUNDS = 50;

    private static final Object MONITOR = new Object();
    private static long inside, turns;

    private static void alone() throws InterruptedException {
        inside++;
        // So that the others come and wait.
        Thread.sleep(0, 100_000);
    }

    private static void after() {
    }

    private static void turn() {
        turns++;
        MONITOR.notifyAll();
    }

    private static void work() throws InterruptedException {
        for (int i = 0; i < ROUNDS; i++) {
            synchronized (MONITOR) {
                alone();
            }
            after();
            synchronized (MONITOR) {
                turn();
                MONITOR.wait(1);
                after();
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            threads.add(Thread.ofVirtual().start(() -> Await.run(VirtualCalls::work)));
        }
        Await.join(threads);
        System.out.println("expect method=VirtualCalls.work calls=" + THREADS);
        System.out.println("expect method=VirtualCalls.alone calls=" + inside);
        System.out.println("expect method=VirtualCalls.turn calls=" + turns);
        System.out.println("expect method=VirtualCalls.after calls=" + 2 * THREADS * ROUNDS);
    }
}

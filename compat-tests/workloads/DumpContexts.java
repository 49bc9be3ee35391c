import java.util.Scanner;
import java.util.concurrent.locks.LockSupport;

/** Gives the agent occasions to ask for dumps; other threads work meanwhile and afterwards. */
final class DumpContexts {
    private static volatile boolean over;
    private static volatile long[] kept;
    private static final long[] WORK = new long[3];

    public static void main(String[] arguments) throws Exception {
        Thread[] threads = Await.startAll(WORK.length, "works ", DumpContexts::work);
        Agent.call("remember", WORK);
        for (String what : arguments) {
            Agent.call(what);
            if (what.equals("arm")) {
                occasion();
            } else if (what.equals("large")) {
                kept = new long[1 << 21];
            } else if (what.equals("read")) {
                System.out.println("ready");
                new Scanner(System.in).hasNextLine();
            }
            goesOn();
        }
        over = true;
        Await.join(threads);
        System.out.println("done");
    }

    private static void work(int number) {
        while (!over) {
            Object[] garbage = new Object[10];
            WORK[number] += 1 + garbage.length - 10;
            LockSupport.parkNanos(100_000);
        }
    }

    /** None of the threads stays suspended. */
    private static void goesOn() {
        for (int i = 0; i < WORK.length; i++) {
            int number = i;
            long before = WORK[i];
            Await.until("thread " + i + " to go on", () -> WORK[number] > before + 10);
        }
    }

    /** A thread starts, a class is loaded, methods are called, objects are made. */
    private static void occasion() throws InterruptedException {
        Thread thread = new Thread(() -> new Late().toString(), "late");
        thread.start();
        thread.join();
    }

    private static final class Late {}
}

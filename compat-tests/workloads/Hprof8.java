import java.lang.ref.WeakReference;
import java.util.concurrent.CountDownLatch;

/** Deterministic programs in the Java of JDK 8, for comparing HPROF's files with those of that JDK. */
public class Hprof8 {
    static Object[] all = new Object[20000];
    static int n;
    static long sink;

    static class Small {}

    static class Base {
        int number = 7;
        Object inherited;
    }

    static class Node extends Base {
        static Node first;
        boolean flag = true;
        char letter = 'x';
        long big = 1L << 40;
        double real = 2.5;
        short little = -3;
        byte tiny = -1;
        float broken = 0.5f;
        Node next;
        String name;

        Node(Node next, int number) {
            this.next = next;
            this.number = number;
            name = "node" + number;
        }
    }

    static class Lock {}

    static final Lock HELD = new Lock(), WAITED = new Lock();

    static void work(int millis) {
        long end = System.nanoTime() + millis * 1000000L, sum = 0;
        while (System.nanoTime() < end) {
            for (int i = 0; i < 1000; i++) {
                sum += i * 31L ^ sum;
            }
        }
        sink += sum;
    }

    static void arrays() {
        for (int i = 0; i < 777; i++) all[n++] = new byte[64];
        for (int i = 0; i < 693; i++) all[n++] = new String[3];
        for (int i = 0; i < 11; i++) all[n++] = new Object[4000];
        for (int i = 0; i < 50; i++) all[n++] = new int[2][3];
        for (int i = 0; i < 17; i++) all[n++] = new double[i];
        for (int i = 0; i < 19; i++) all[n++] = new Small[i][];
    }

    static void objects() {
        for (int i = 0; i < 1234; i++) all[n++] = new Small();
        for (int i = 0; i < 321; i++) all[n++] = new Base();
    }

    static void strings() {
        for (int i = 0; i < 200; i++) all[n++] = new String("constant");
        for (int i = 0; i < 300; i++) all[n++] = new StringBuilder(30);
    }

    static void garbage() {
        for (int i = 0; i < 5000; i++) all[i % 10] = new Small();
        System.gc();
    }

    static void list() {
        for (int i = 0; i < 100; i++) Node.first = new Node(Node.first, i);
        Node.first.inherited = new int[] {1, 2, 3};
        all[n++] = new WeakReference<Object>(Node.first);
    }

    static void leaf() {
        work(30);
    }

    static void left() {
        leaf();
        work(60);
    }

    static void right() {
        leaf();
        leaf();
    }

    static void calls() {
        for (int i = 0; i < 10; i++) {
            left();
            right();
        }
    }

    static void recursive(int depth) {
        work(10);
        if (depth > 0) recursive(depth - 1);
    }

    static void recursion() {
        for (int i = 0; i < 10; i++) recursive(9);
    }

    static void thrower() {
        work(20);
        throw new IllegalStateException();
    }

    static void exceptions() {
        for (int i = 0; i < 25; i++) {
            try {
                thrower();
            } catch (IllegalStateException expected) {
                n = 0;
            }
        }
    }

    static Thread start(String name, final Runnable body) {
        Thread thread = new Thread(name) {
            @Override
            public void run() {
                body.run();
            }
        };
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    static void threads() throws InterruptedException {
        for (int i = 0; i < 5; i++) {
            start("thread " + i, new Runnable() {
                public void run() {
                    synchronized (Hprof8.class) {
                        objects();
                    }
                }
            }).join();
        }
        ThreadGroup group = new ThreadGroup("a group");
        Thread grouped = new Thread(group, "grouped \"thread\"");
        grouped.start();
        grouped.join();
    }

    static void monitors() throws InterruptedException {
        final CountDownLatch ready = new CountDownLatch(2);
        start("holder", new Runnable() {
            public void run() {
                synchronized (HELD) {
                    ready.countDown();
                    try {
                        Thread.sleep(1000000);
                    } catch (InterruptedException end) {
                        return;
                    }
                }
            }
        });
        start("waiter", new Runnable() {
            public void run() {
                synchronized (WAITED) {
                    ready.countDown();
                    try {
                        WAITED.wait();
                    } catch (InterruptedException end) {
                        return;
                    }
                }
            }
        });
        ready.await();
        Thread enterer = start("enterer", new Runnable() {
            public void run() {
                synchronized (HELD) {
                    n++;
                }
            }
        });
        while (enterer.getState() != Thread.State.BLOCKED) Thread.sleep(1);
        Thread.sleep(50);
    }

    static void contention() throws InterruptedException {
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = start("contender " + i, new Runnable() {
                public void run() {
                    for (int j = 0; j < 5; j++) {
                        synchronized (HELD) {
                            work(20);
                        }
                    }
                }
            });
        }
        for (Thread thread : threads) thread.join();
    }

    public static void main(String[] arguments) throws InterruptedException {
        switch (arguments[0]) {
            case "arrays": arrays(); break;
            case "objects": objects(); break;
            case "strings": strings(); break;
            case "garbage": garbage(); break;
            case "list": list(); break;
            case "calls": calls(); break;
            case "recursion": recursion(); break;
            case "exceptions": exceptions(); break;
            case "threads": threads(); break;
            case "monitors": monitors(); break;
            case "contention": contention(); break;
            case "hello": break;
            default: throw new IllegalArgumentException(arguments[0]);
        }
        System.out.println("done");
    }
}

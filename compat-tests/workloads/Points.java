import java.util.concurrent.atomic.AtomicInteger;

/** Makes objects, calls methods that wait, and starts threads, and says how many of each. */
final class Points {
    static final class Point {
        final int x;
        final long y;

        Point(int x) {
            this.x = x;
            this.y = -x;
        }
    }

    static final int MADE = 6000;
    static final int KEPT = 1000;
    static final int SLOW = 3;
    static final int FAILING = 2;
    static final int THREADS = 20;
    /** The time that a slow call waits, in milliseconds. */
    static final int WAIT = 30;

    static final Point[] kept = new Point[KEPT];
    static final AtomicInteger touches = new AtomicInteger();

    static void slow() throws InterruptedException {
        Thread.sleep(WAIT);
    }

    static void failing() throws InterruptedException {
        Thread.sleep(WAIT);
        throw new IllegalStateException("expected");
    }

    static void touch() {
        touches.getAndIncrement();
    }

    public static void main(String[] arguments) throws InterruptedException {
        for (int i = 0; i < MADE; i++) {
            kept[i % KEPT] = new Point(i);
        }
        for (int i = 0; i < SLOW; i++) {
            slow();
        }
        for (int i = 0; i < FAILING; i++) {
            try {
                failing();
            } catch (IllegalStateException e) {
                // The exception is expected.
            }
        }
        Await.join(Await.startAll(THREADS, "points-", i -> {
            for (int call = 0; call < 100 * i; call++) {
                touch();
            }
        }));
        System.out.println("expect made=" + MADE + " kept=" + KEPT + " slow=" + SLOW + " failing=" + FAILING
                + " threads=" + THREADS + " touches=" + touches);
    }
}

import java.util.concurrent.CyclicBarrier;

/** Threads that use a class while one of them initializes it, so that the JVM has the others wait. */
final class Initializers {
    private static final int THREADS = 8;
    private static final CyclicBarrier ALL_ARE_READY = new CyclicBarrier(THREADS);

    private static class First {
        static final long VALUE = compute();
    }

    private static class Second {
        static final long VALUE = compute();
    }

    private static class Third {
        static final long VALUE = compute();
    }

    private static class Fourth {
        static final long VALUE = compute();
    }

    static long compute() {
        long value = 1;
        for (int i = 0; i < 1_000_000; i++) {
            value = value * 31 + i;
        }
        return value;
    }

    private static void use() throws Exception {
        ALL_ARE_READY.await();
        long sum = First.VALUE;
        ALL_ARE_READY.await();
        sum += Second.VALUE;
        ALL_ARE_READY.await();
        sum += Third.VALUE;
        ALL_ARE_READY.await();
        sum += Fourth.VALUE;
        if (sum != 4 * First.VALUE) {
            throw new AssertionError(sum);
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Await.join(Await.startAll(THREADS, "uses-", i -> Await.run(Initializers::use)));
        System.out.println("initialized");
    }
}

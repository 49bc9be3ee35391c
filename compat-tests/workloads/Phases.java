/** Computes in one method, then in another, each until a second of the clock and some work are over. */
final class Phases {
    private static final long ENOUGH = 20_000_000;
    private static volatile long result;

    private static long next(long value) {
        return value * 6_364_136_223_846_793_005L + 1;
    }

    private static void first() {
        compute();
    }

    private static void second() {
        compute();
    }

    private static void compute() {
        long begun = System.nanoTime();
        long count = 0;
        while (count < ENOUGH || System.nanoTime() - begun < 1_100_000_000L) {
            for (int i = 0; i < 100_000; i++) {
                result = next(result);
            }
            count += 100_000;
        }
    }

    public static void main(String[] arguments) {
        first();
        second();
        System.out.println("done");
    }
}

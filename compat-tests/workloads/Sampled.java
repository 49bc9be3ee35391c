/** Two threads that compute for a while, and two that do nothing. */
final class Sampled {
    private static final long NANOS = 700_000_000;
    private static volatile long x, y;

    private static void first() {
        long end = System.nanoTime() + NANOS;
        while (System.nanoTime() < end) {
            for (int i = 0; i < 10_000; i++) {
                x += i;
            }
        }
    }

    private static void second() {
        long end = System.nanoTime() + NANOS;
        while (System.nanoTime() < end) {
            for (int i = 0; i < 10_000; i++) {
                y += i;
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Await.join(Await.start("first", Sampled::first), Await.start("second", Sampled::second));
        System.out.println("sampled");
    }
}

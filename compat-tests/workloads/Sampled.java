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
        Thread first = new Thread(Sampled::first), second = new Thread(Sampled::second);
        first.start();
        second.start();
        first.join();
        second.join();
        System.out.println("sampled");
    }
}

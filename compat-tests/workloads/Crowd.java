/** Four threads allocate for a number of milliseconds, and others come and go. */
final class Crowd {
    private static final int THREADS = 4;
    private static volatile boolean over;
    private static volatile Object published;

    private static void allocate() {
        Object[] kept = new Object[1_000];
        for (int i = 0; !over; i++) {
            kept[i % kept.length] = i % 3 == 0 ? new int[i % 100] : "value " + i;
            published = kept;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000;
        Thread[] threads = new Thread[THREADS];
        for (int t = 0; t < THREADS; t++) {
            threads[t] = new Thread(Crowd::allocate, "allocator-" + t);
            threads[t].start();
        }
        while (System.nanoTime() < end) {
            Thread visitor = new Thread(() -> published = new int[100], "visitor");
            visitor.start();
            visitor.join();
        }
        over = true;
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("crowded");
    }
}

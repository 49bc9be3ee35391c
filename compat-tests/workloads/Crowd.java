/** Four threads allocate for a number of milliseconds, and others come and go. */
final class Crowd {
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
        Thread[] threads = Await.startAll(4, "allocator-", i -> allocate());
        while (System.nanoTime() < end) {
            Thread visitor = new Thread(() -> published = new int[100], "visitor");
            visitor.start();
            visitor.join();
        }
        over = true;
        Await.join(threads);
        System.out.println("crowded");
    }
}

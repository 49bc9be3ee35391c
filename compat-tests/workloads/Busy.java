import java.io.IOException;

/** Computes on two threads until its standard input ends. */
final class Busy {
    private static volatile boolean over;
    private static volatile double result;

    private static void work() {
        double sum = 0;
        for (int i = 0; i < 50_000; i++) {
            sum += Math.sqrt(i);
        }
        result = sum;
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        Thread[] threads = new Thread[2];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                while (!over) {
                    work();
                }
            }, "busy-" + i);
            threads[i].start();
        }
        System.out.println("ready");
        while (System.in.read() >= 0) {
            // the contents of the input do not matter
        }
        over = true;
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("done");
    }
}

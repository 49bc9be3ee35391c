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
        Thread[] threads = Await.startAll(2, "busy-", i -> {
            while (!over) {
                work();
            }
        });
        System.out.println("ready");
        Await.endOfInput();
        over = true;
        Await.join(threads);
        System.out.println("done");
    }
}

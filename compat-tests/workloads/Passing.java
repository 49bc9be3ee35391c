/** Starts one thread after the other until its standard input ends. Each has a name of its own. */
final class Passing {
    static volatile boolean ends;

    public static void main(String[] arguments) throws InterruptedException {
        Thread reader = Await.atEndOfInput(() -> ends = true);
        System.out.println("ready");
        for (int number = 0; !ends; number++) {
            Thread thread = new Thread(() -> {}, "passing-" + number);
            thread.start();
            thread.join();
            Thread.sleep(1);
        }
        reader.join();
        System.out.println("done");
    }
}

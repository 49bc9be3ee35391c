import java.io.IOException;

/** Starts one thread after the other until its standard input ends. Each has a name of its own. */
final class Passing {
    static volatile boolean ends;

    public static void main(String[] arguments) throws InterruptedException {
        Thread reader = new Thread(Passing::read, "reader");
        reader.start();
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

    static void read() {
        try {
            Await.endOfInput();
        } catch (IOException e) {
            System.out.println(e);
        }
        ends = true;
    }
}

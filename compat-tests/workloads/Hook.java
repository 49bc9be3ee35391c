import java.util.concurrent.CountDownLatch;

/** Prints the text of a class that the agent may have changed. */
final class Hook {
    static final class Target {
        static String text() {
            return "ORIGINAL";
        }
    }

    /** Classes that are loaded and never linked. */
    static class Unused {}

    static final class UnusedToo extends Unused {
        Unused field;
    }

    /** With an argument a thread loads classes that nobody uses, and so does this one;
     * with "exit" the latter ends the program. */
    public static void main(String[] arguments) throws Exception {
        System.out.println("expect text=" + Target.text());
        if (arguments.length > 0 && arguments[0].equals("elsewhere")) {
            linkElsewhere();
        } else if (arguments.length > 0) {
            Thread thread = new Thread(() -> load("Hook$UnusedToo", "java.util.zip.GZIPInputStream"));
            thread.start();
            thread.join();
            load("Hook$Target", "Hello", "java.util.zip.CRC32", "javax.net.ssl.SSLException");
            if (arguments[0].equals("exit")) {
                System.exit(0);
            }
        }
    }

    /** This thread links what another one has loaded, which is there until then. */
    private static void linkElsewhere() throws Exception {
        CountDownLatch loaded = new CountDownLatch(1), linked = new CountDownLatch(1);
        Thread thread = new Thread(() -> {
            load("Hello");
            loaded.countDown();
            Await.run(linked::await);
        });
        thread.start();
        loaded.await();
        Class.forName("Hello");
        linked.countDown();
        thread.join();
    }

    private static void load(String... names) {
        for (String name : names) {
            Await.run(() -> Class.forName(name, false, Hook.class.getClassLoader()));
        }
    }
}

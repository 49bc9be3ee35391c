/** Lets threads enable and disable events at the same time, and does what causes them. */
final class Switching {
    private static final int ROUNDS = 150;
    private static final Object LOCK = new Object();
    private static Object kept;

    /** A class that each round loads anew. */
    public static final class Loaded {}

    private static final class Loader extends ClassLoader {
        Class<?> define(byte[] file) {
            return defineClass("Switching$Loaded", file, 0, file.length);
        }
    }

    /** The argument is "outside" or "random". */
    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("outside")) {
            Agent.call("outside");
            step();
            System.out.println("expect when=refused entered=" + Agent.call("entered"));
            long result = Agent.call("inside");
            step();
            System.out.println("expect when=enabled entered=" + Agent.call("entered")
                    + " result=" + result);
            return;
        }
        byte[] file = ClassFile.of("Switching$Loaded");
        for (int round = 0; round < ROUNDS; round++) {
            Thread[] threads = new Thread[4];
            for (int i = 0; i < threads.length; i++) {
                String what = "toggle " + i + " " + (round * 31 + i);
                threads[i] = new Thread(() -> Agent.call(what));
            }
            for (Thread thread : threads) {
                thread.start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            Agent.call("forget");
            cause(file);
            Agent.call("verify");
        }
    }

    private static void step() {}

    private static void cause(byte[] file) throws Exception {
        step();
        kept = new int[10];
        Agent.call("references", LOCK);
        new Loader().define(file).getDeclaredConstructor().newInstance();
        Thread contender;
        synchronized (LOCK) {
            contender = new Thread(() -> {
                synchronized (LOCK) {
                    step();
                }
            });
            contender.start();
            Await.state(contender, Thread.State.BLOCKED);
        }
        contender.join();
        synchronized (LOCK) {
            LOCK.wait(1);
        }
        Agent.call("collect");
    }
}

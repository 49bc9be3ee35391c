/** Lets threads enable and disable events at the same time, and does what causes them. */
final class Switching {
    private static final int ROUNDS = 150;
    private static final Object LOCK = new Object();
    private static Object kept;

    /** A class that each round loads anew. */
    public static final class Loaded {}

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
            int seed = round * 31;
            Await.join(Await.startAll(4, "toggles-", i -> Agent.call("toggle " + i + " " + (seed + i))));
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
        new ClassFile.Loader().define(file).getDeclaredConstructor().newInstance();
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

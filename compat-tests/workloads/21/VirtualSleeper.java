/** A virtual thread that sleeps: the VM loads classes meanwhile, which JVMTI does not report on JDK 21. */
final class VirtualSleeper {
    record Point(int x, long y, boolean known) {}

    private static final Object[] KEPT = {new long[3], new Point(1, -2, true)};

    public static void main(String[] arguments) throws InterruptedException {
        Agent.call("remember", KEPT[0]);
        Thread thread = Thread.ofVirtual().start(VirtualSleeper::sleep);
        thread.join();
        for (String what : arguments) {
            Agent.call(what);
        }
        System.out.println("done");
    }

    private static void sleep() {
        try {
            Thread.sleep(5);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}

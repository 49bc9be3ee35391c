import java.io.IOException;

/** A thread that waits for a monitor of another, and from JDK 21 on a virtual thread that sleeps. */
final class Stacks {
    private static final Object LOCK = new Object();

    private static void wantsIt() {
        synchronized (LOCK) {
            System.out.println("done");
        }
    }

    private static void sleepsLong() {
        Await.run(() -> Thread.sleep(1_000_000));
    }

    private static void readsToTheEnd() throws IOException {
        System.out.println("ready");
        Await.endOfInput();
    }

    public static void main(String[] arguments) throws Exception {
        if (Integer.parseInt(System.getProperty("java.specification.version")) >= 21) {
            Runnable sleeps = Stacks::sleepsLong;
            Object sleeper = Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, sleeps);
            Await.state((Thread) sleeper, Thread.State.TIMED_WAITING);
        }
        Thread wants = new Thread(Stacks::wantsIt, "wants it");
        synchronized (LOCK) {
            wants.start();
            Await.state(wants, Thread.State.BLOCKED);
            readsToTheEnd();
        }
        wants.join();
    }
}

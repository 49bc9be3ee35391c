/** Objects and monitors that the agent looks for in dumps. */
public final class Dumps extends Thread {
    private static final Object MONITOR = new Object();

    static class Base {
        byte small = -2;
    }

    static final class Known extends Base implements Cloneable {
        static short number = 0x7654;
        int i = 0x12345678;
        long l = 0x0102030405060708L;
        char c = '\u20ac';
        int[] array = {1, -1, 0x01020304};
    }

    private final boolean waits;

    private Dumps(boolean waits) {
        this.waits = waits;
        setDaemon(true);
    }

    public void run() {
        Conform.call(waits ? "waits" : "enters");
        synchronized (MONITOR) {
            while (waits) {
                try {
                    MONITOR.wait();
                } catch (InterruptedException interrupted) {
                    return;
                }
            }
        }
    }

    /** Nobody else holds the object. */
    private static int onStack() {
        Object local = new StringBuffer("on the stack");
        Conform.call("local", local);
        Conform.call("dump");
        return local.hashCode();
    }

    private static void own() {
        synchronized (MONITOR) {
            synchronized (MONITOR) {
                new Dumps(false).start();
                Conform.await("is entering", 1);
                Conform.call("monitors");
            }
        }
    }

    public static void main(String[] arguments) {
        Known known = new Known();
        Known[] array = {null, known, new Known()};
        Conform.call("class", Known.class);
        Conform.call("object", known);
        Conform.call("array", array);
        Conform.call("ints", known.array);
        Conform.call("sticky", String.class);
        Conform.call("thread", Thread.currentThread());
        Conform.call("global", new StringBuffer("global"));
        onStack();
        Conform.call("monitor", MONITOR);
        new Dumps(true).start();
        Conform.await("is waiting", 1);
        own();
        if (array[1] != known) {
            throw new IllegalStateException();
        }
    }
}

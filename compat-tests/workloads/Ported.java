import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;

/** Does one of each thing that the agents of the porting guide report. */
public final class Ported {
    static final class Node {
        final Node next;

        Node(Node next) {
            this.next = next;
        }
    }

    static final class Lock {}

    /** Is loaded a second time, by a loader that dies. */
    public static final class Unloaded {}

    static final Lock lock = new Lock();
    static Node nodes;
    static volatile double result;

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 7; i++) {
            nodes = new Node(nodes);
        }
        contend();
        sleepInWait();
        unload();
        spin();
    }

    private static void contend() throws InterruptedException {
        Thread thread = new Thread("ported") {
            @Override
            public void run() {
                enter();
            }
        };
        synchronized (lock) {
            thread.start();
            while (thread.getState() != Thread.State.BLOCKED) {
                Thread.yield();
            }
        }
        while (thread.isAlive()) { // join() would wait for the thread, or not, as its end comes sooner
            Thread.yield();
        }
    }

    static void enter() {
        synchronized (lock) {
            result++;
        }
    }

    private static void sleepInWait() throws InterruptedException {
        synchronized (lock) {
            lock.wait(1);
        }
    }

    private static void unload() throws Exception {
        WeakReference<Class<?>> loaded = new WeakReference<>(load());
        while (loaded.get() != null) {
            System.gc();
        }
    }

    private static Class<?> load() throws Exception {
        URL url = Ported.class.getProtectionDomain().getCodeSource().getLocation();
        try (URLClassLoader loader = new URLClassLoader(new URL[] {url}, null)) {
            Class<?> loaded = loader.loadClass("Ported$Unloaded");
            loaded.getDeclaredConstructor().newInstance();
            return loaded;
        }
    }

    /** Uses half a second of processor time. */
    private static void spin() {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long end = threads.getCurrentThreadCpuTime() + 500_000_000;
        while (threads.getCurrentThreadCpuTime() < end) {
            compute();
        }
    }

    private static void compute() {
        for (int i = 0; i < 10_000_000; i++) {
            result = Math.max(result, i) + 1;
        }
    }
}

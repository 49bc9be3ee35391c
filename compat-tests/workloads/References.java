import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** Has the agent make JNI references on a thread that runs already, with more and more events on. */
final class References {
    private static final int ALLOC = 38, FREE = 39, WEAK_ALLOC = 40, WEAK_FREE = 41;
    private static final BlockingQueue<Runnable> WORK = new LinkedBlockingQueue<>();
    private static final BlockingQueue<Long> DONE = new LinkedBlockingQueue<>();

    public static void main(String[] arguments) throws InterruptedException {
        Thread worker = new Thread(References::work, "worker");
        worker.setDaemon(true);
        worker.start();
        look("before");
        onWorker("keep");
        long unknown = onWorker("dump");
        int[] events = {ALLOC, WEAK_FREE, FREE, WEAK_ALLOC};
        for (int event : events) {
            Agent.call("enable " + event);
            look("enabled_" + event);
        }
        System.out.println("expect roots=\"in dumps\" unknown=" + unknown + " known=" + onWorker("dump"));
        onWorker("drop");
        // The shim keeps references to threads and classes.
        for (int i = 0; i < 20; i++) {
            Thread thread = new Thread(() -> new Object() {}.hashCode());
            thread.start();
            thread.join();
        }
        for (int event : events) {
            Agent.call("disable " + event);
            look("disabled_" + event);
        }
        Agent.call("enable " + FREE);
        look("again");
        Agent.call("disable " + FREE);
        look("after");
    }

    private static void look(String when) throws InterruptedException {
        System.out.println("expect when=" + when + " replaced=" + Agent.call("replaced")
            + " on_worker=" + onWorker("replaced") + " strong=" + onWorker("strong")
            + " weak=" + onWorker("weak") + " pending=" + onWorker("pending"));
    }

    private static long onWorker(String what) throws InterruptedException {
        WORK.add(() -> DONE.add(Agent.call(what, new Object())));
        return DONE.take();
    }

    private static void work() {
        try {
            while (true) {
                WORK.take().run();
            }
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }
}

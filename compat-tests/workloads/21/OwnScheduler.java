import java.lang.reflect.Method;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;

/** Runs a virtual thread on a thread of its own, which takes a step each time when the virtual one has left it. */
final class OwnScheduler {
    private static final int YIELDS = 20;
    private static final BlockingQueue<Runnable> runs = new LinkedBlockingQueue<>();
    private static int steps;

    public static void main(String[] arguments) throws ReflectiveOperationException, InterruptedException {
        Agent.call("enable");
        Thread virtual = virtual(runs::add, () -> {
            for (int i = 0; i < YIELDS; i++) {
                Thread.yield();
            }
        });
        Thread carrier = new Thread(() -> {
            while (virtual.getState() != Thread.State.TERMINATED) {
                runs.remove().run();
                step();
            }
        });
        virtual.start();
        carrier.start();
        carrier.join();
        System.out.println("expect steps=" + steps);
    }

    private static void step() {
        steps++;
    }

    /** The JDK does not show programs how it makes one with another scheduler. */
    private static Thread virtual(Executor scheduler, Runnable body) throws ReflectiveOperationException {
        Method make = Class.forName("java.lang.ThreadBuilders")
                .getDeclaredMethod("newVirtualThread", Executor.class, String.class, int.class, Runnable.class);
        make.setAccessible(true);
        return (Thread) make.invoke(null, scheduler, "own", 0, body);
    }
}

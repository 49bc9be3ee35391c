import java.util.ArrayList;
import java.util.List;

/**
 * Virtual and platform threads wait for a monitor that a platform thread owns, then for one that a
 * virtual thread owns; virtual threads wait to be notified and sleep. The argument is the number of waits
 * of the six that are reported to the agent.
 */
final class VirtualContended {
    private static final Object CONTENDED = new Object(), WAITED = new Object();
    private static final int VIRTUAL = 4, PLATFORM = 2;

    public static void main(String[] arguments) throws InterruptedException {
        int told = Integer.parseInt(arguments[0]);
        Agent.call("watch contended", CONTENDED);
        Agent.call("watch waited", WAITED);
        stage(told);
        Thread.ofVirtual().start(() -> Await.run(() -> stage(told))).join();

        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < VIRTUAL; i++) {
            threads.add(Thread.ofVirtual().start(() -> Await.run(VirtualContended::waitAndSleep)));
        }
        Await.join(threads);
        System.out.println("expect stages=2 virtual=" + VIRTUAL + " platform=" + PLATFORM);
    }

    private static void stage(int told) throws InterruptedException {
        long before = Agent.call("enters", CONTENDED);
        List<Thread> threads = new ArrayList<>();
        synchronized (CONTENDED) {
            for (int i = 0; i < VIRTUAL + PLATFORM; i++) {
                Thread.Builder builder = i < VIRTUAL ? Thread.ofVirtual() : Thread.ofPlatform().name("waiter-" + i);
                threads.add(builder.start(VirtualContended::enter));
            }
            threads.forEach(thread -> Await.state(thread, Thread.State.BLOCKED));
            Await.until("all to be told", () -> Agent.call("enters", CONTENDED) == before + told);
        }
        Await.join(threads);
    }

    private static void enter() {
        synchronized (CONTENDED) {
            CONTENDED.hashCode();
        }
    }

    private static void waitAndSleep() throws InterruptedException {
        synchronized (WAITED) {
            WAITED.wait(30);
        }
        Thread.sleep(20);
    }
}

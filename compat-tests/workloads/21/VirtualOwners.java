import java.util.concurrent.locks.LockSupport;

/** Virtual threads that own monitors, wait for them and in them, and threads that wait for theirs. */
final class VirtualOwners {
    private static final Object OWN = new Object(), RUNS = new Object(), PINNED = new Object();
    private static final Object PARKED = new Object(), WAITED = new Object();
    private static volatile boolean spins, over;
    private static volatile int work;

    public static void main(String[] arguments) throws InterruptedException {
        virtual("runs", () -> thrice(RUNS, () -> {
            Agent.call("here runs");
            spins = true;
            while (!over) {
                work++;
            }
        }));
        Await.until("one to spin", () -> spins);
        Thread pinned = virtual("pinned", () -> thrice(PINNED, () -> {
            Agent.call("here pinned");
            Agent.call("back", (Runnable) VirtualOwners::park);
        }));
        Thread parked = virtual("parked", () -> thrice(PARKED, () -> {
            Agent.call("here parked");
            park();
        }));
        Thread waits = virtual("waits", () -> {
            synchronized (WAITED) {
                Agent.call("here waits");
                Await.run(WAITED::wait);
            }
        });
        Await.state(pinned, Thread.State.WAITING);
        Await.state(parked, Thread.State.WAITING);
        Await.state(waits, Thread.State.WAITING);
        Thread virtual = virtual("wants", () -> {
            Agent.call("here wants");
            enter(PARKED);
        });
        Thread platform = Thread.ofPlatform().name("platform").daemon().start(() -> enter(PARKED));
        Await.state(virtual, Thread.State.BLOCKED);
        Await.state(platform, Thread.State.BLOCKED);

        System.out.println("expect own=" + Agent.call("id", OWN) + " runs=" + Agent.call("id", RUNS)
                + " pinned=" + Agent.call("id", PINNED) + " parked=" + Agent.call("id", PARKED)
                + " waited=" + Agent.call("id", WAITED));
        Agent.call("monitors platform");
        virtual("asks", () -> thrice(OWN, () -> Agent.call("monitors virtual"))).join();
        Runtime.getRuntime().halt(0);
    }

    private static void thrice(Object monitor, Runnable inside) {
        synchronized (monitor) {
            synchronized (monitor) {
                synchronized (monitor) {
                    inside.run();
                }
            }
        }
    }

    private static void enter(Object monitor) {
        synchronized (monitor) {
            throw new IllegalStateException("entered");
        }
    }

    private static void park() {
        while (!over) {
            LockSupport.park();
        }
    }

    private static Thread virtual(String name, Runnable code) {
        return Thread.ofVirtual().name(name).start(code);
    }
}

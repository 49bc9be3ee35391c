import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** Virtual threads that the agent looks at: in their own name, from outside, suspended, on and off carriers. */
final class VirtualOwn {
    private static volatile boolean over;
    private static volatile long turns;
    private static long consumed;

    public static void main(String[] arguments) throws InterruptedException {
        Thread.ofVirtual().name("caller").start(VirtualOwn::call).join();

        Thread spinning = Thread.ofVirtual().name("spinning").start(VirtualOwn::spin);
        Await.until("it to spin", () -> turns > 0);
        Thread parked = Thread.ofVirtual().name("parked").start(VirtualOwn::park);
        Await.state(parked, Thread.State.WAITING);
        Thread blocked;
        synchronized (VirtualOwn.class) {
            blocked = Thread.ofVirtual().name("blocked").start(VirtualOwn::enter);
            Await.state(blocked, Thread.State.BLOCKED);
            status("spinning");
            status("parked");
            status("blocked");
            Agent.call("stack parked");
            Agent.call("stack blocked");
            // A platform thread that looks at others.
            Agent.call("suspend spinning");
            Agent.call("stack spinning");
            long before = turns;
            long spun = 0;
            for (int i = 0; i < 100; i++) {
                Thread.yield();
                spun |= turns - before;
            }
            Agent.call("suspend parked");
            LockSupport.unpark(parked);
            System.out.println("expect suspended=" + (spun == 0));
            Agent.call("resume spinning");
            Await.until("it to spin again", () -> turns > before);
            System.out.println("expect held=" + parked.isAlive());
            Agent.call("resume parked");
        }
        over = true;
        Await.join(spinning, parked, blocked);

        // Each gets its own time, whatever other threads have used the carriers.
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            threads.add(Thread.ofVirtual().start(() -> {
                long mine = consume();
                synchronized (Agent.class) {
                    consumed += mine;
                }
            }));
        }
        Await.join(threads);
        System.out.println("expect cpu=" + consumed);
    }

    private static void status(String name) {
        System.out.println("expect status=" + Agent.call("status " + name) + " of=" + name);
    }

    private static void call() {
        Agent.call("jni", Thread.currentThread());
        Agent.call("trace");
    }

    private static void spin() {
        while (!over) {
            turns++;
        }
    }

    private static void park() {
        LockSupport.park();
    }

    private static void enter() {
        synchronized (VirtualOwn.class) {
            turns++;
        }
    }

    /** Uses 20 ms of its own in small pieces, and lets others run in between; returns the agent's figure. */
    private static long consume() {
        long begun = Agent.call("cpu"), now;
        do {
            long end = Agent.call("cpu") + 500_000;
            while ((now = Agent.call("cpu")) < end) {
                Thread.onSpinWait();
            }
            Thread.yield();
        } while (now - begun < 20_000_000);
        return now;
    }
}

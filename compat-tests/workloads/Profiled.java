import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** Does the things that a profiler reports, and counts them itself: the arguments select them. */
final class Profiled {
    static final class Kept {
        final Object next;
        final int number;

        Kept(Object next, int number) {
            this.next = next;
            this.number = number;
        }
    }

    static final class Dropped {
        long number;
    }

    static final class Brief {
    }

    /** One look at the stack does not show the creator of a {@link Deep}: this many constructors run for it. */
    static class D1 { }
    static class D2 extends D1 { }
    static class D3 extends D2 { }
    static class D4 extends D3 { }
    static class D5 extends D4 { }
    static class D6 extends D5 { }
    static class D7 extends D6 { }
    static class D8 extends D7 { }
    static class D9 extends D8 { }
    static class D10 extends D9 { }
    static class D11 extends D10 { }
    static class D12 extends D11 { }
    static class D13 extends D12 { }
    static class D14 extends D13 { }
    static class D15 extends D14 { }
    static class D16 extends D15 { }
    static final class Deep extends D16 { }

    static final int KEPT = 700, DROPPED = 3000, THREADS = 4, CALLS = 5000, DEPTH = 30, CONTENDED = 3, BRIEF = 50_000;

    static Kept kept;
    static final Deep[] deep = new Deep[300];
    static final Object[] blocks = new Object[1 << 14];
    static volatile Brief last;
    static final Object lock = new Object();
    static final AtomicLong outer = new AtomicLong(), inner = new AtomicLong(), recursive = new AtomicLong();
    static volatile double result;

    static void outer() {
        outer.getAndIncrement();
        inner();
        inner();
    }

    static void inner() {
        inner.getAndIncrement();
    }

    static void recursive(int depth) {
        recursive.getAndIncrement();
        if (depth > 1) {
            recursive(depth - 1);
        } else {
            throw new IllegalStateException("expected");
        }
    }

    static class Refusing {
        Refusing() {
            throw new IllegalStateException();
        }
    }

    /** Is left in the call of its superclass's constructor. */
    static final class Refused extends Refusing {}

    /** On four threads at a time: constructors that fail, calls, and one that ends by an exception. */
    static void calls() throws InterruptedException {
        inThreads(THREADS, () -> {
            for (int i = 0; i < DEPTH; i++) {
                try {
                    new Refused();
                } catch (IllegalStateException e) {
                    // The exception is expected.
                }
            }
            for (int i = 0; i < CALLS; i++) {
                outer();
            }
            try {
                recursive(DEPTH);
            } catch (IllegalStateException e) {
                // The exception is expected.
            }
        });
        System.out.println("expect outer=" + outer + " inner=" + inner + " recursive=" + recursive);
    }

    static void objects() {
        for (int i = 0; i < KEPT; i++) {
            kept = new Kept(kept, i);
        }
        for (int i = 0; i < deep.length; i++) {
            deep[i] = new Deep();
        }
        long sum = 0;
        for (int i = 0; i < DROPPED; i++) {
            Dropped dropped = new Dropped();
            dropped.number = i;
            sum += dropped.number;
        }
        result = sum;
        System.out.println("expect kept=" + KEPT + " dropped=" + DROPPED + " deep=" + deep.length);
    }

    /** Each of four threads makes this many objects; each object lives until the next one is made. */
    static void brief() throws InterruptedException {
        inThreads(THREADS, () -> {
            for (int i = 0; i < BRIEF; i++) {
                last = new Brief();
            }
        });
        System.out.println("expect brief=" + THREADS * BRIEF);
    }

    /** Keeps objects until there is no memory for another one, and dies of that. */
    static void exhaust() {
        int count = 0;
        try {
            for (;;) {
                blocks[count] = new byte[1 << 16];
                kept = new Kept(kept, count);
                count++;
            }
        } catch (OutOfMemoryError e) {
            // The VM ends in order only if there is memory for that. Nothing that has to be loaded can help.
            for (int i = 0; i < 32; i++) {
                blocks[i] = null;
            }
            System.out.println("expect kept=" + count);
            throw e;
        }
    }

    /**
     * A thread waits for the lock, which is held for 20 ms more when the thread shows as blocked. That is a moment
     * before the VM reports it.
     */
    static void contention() throws InterruptedException {
        AtomicLong waited = new AtomicLong();
        for (int i = 0; i < CONTENDED; i++) {
            Thread waiter = new Thread(() -> waited.addAndGet(waitForLock()), "waiter");
            synchronized (lock) {
                waiter.start();
                while (waiter.getState() != Thread.State.BLOCKED) {
                    Thread.yield();
                }
                Thread.sleep(20);
            }
            waiter.join();
        }
        System.out.println("expect hits=" + CONTENDED + " least=" + 19 * CONTENDED + " most="
                + (waited.get() / 1_000_000 + 1));
    }

    static long waitForLock() {
        long start = System.nanoTime();
        synchronized (lock) {
            return System.nanoTime() - start;
        }
    }

    static final ReentrantLock reentrantLock = new ReentrantLock();

    /** A thread waits for a lock of java.util.concurrent, which is held for 20 ms more when it does. */
    static void locks() throws InterruptedException {
        AtomicLong waited = new AtomicLong();
        for (int i = 0; i < CONTENDED; i++) {
            Thread waiter = new Thread(() -> waited.addAndGet(waitForReentrantLock()), "waiter");
            reentrantLock.lock();
            waiter.start();
            while (waiter.getState() != Thread.State.WAITING || LockSupport.getBlocker(waiter) == null) {
                Thread.yield();
            }
            Thread.sleep(20);
            reentrantLock.unlock();
            waiter.join();
        }
        waitForNotifications();
        System.out.println("expect hits=" + CONTENDED + " least=" + 20 * CONTENDED + " most="
                + (waited.get() / 1_000_000 + 1));
    }

    static long waitForReentrantLock() {
        long start = System.nanoTime();
        reentrantLock.lock();
        reentrantLock.unlock();
        return System.nanoTime() - start;
    }

    static void waitForNotifications() throws InterruptedException {
        reentrantLock.lock();
        reentrantLock.newCondition().await(1, TimeUnit.MILLISECONDS);
        reentrantLock.unlock();
        new CountDownLatch(1).await(1, TimeUnit.MILLISECONDS);
        synchronized (lock) {
            lock.wait(1);
        }
    }

    static double work(int rounds) {
        double sum = 0;
        for (int i = 0; i < rounds; i++) {
            sum += Math.sqrt(i);
        }
        return sum;
    }

    static void seventy() {
        result = work(70_000);
    }

    static void twenty() {
        result = work(20_000);
    }

    static void ten() {
        result = work(10_000);
    }

    /** A number of threads compute, while others wait for a connection and for input. */
    static void compute(int threads, long millis) throws Exception {
        ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Socket socket = new Socket(server.getInetAddress(), server.getLocalPort());
        Socket other = server.accept();
        // Accepting and reading are loaded here, so that waiting threads have nothing else to do.
        other.getOutputStream().write(1);
        socket.getInputStream().read();
        Thread accepting = daemon(() -> server.accept()), reading = daemon(() -> socket.getInputStream().read());
        inThreads(threads, () -> {
            long end = System.nanoTime() + millis * 1_000_000;
            while (System.nanoTime() < end) {
                seventy();
                twenty();
                ten();
            }
        });
        other.getOutputStream().write(1);
        reading.join();
        server.close();
        accepting.join();
    }

    interface Blocking {
        void run() throws Exception;
    }

    static Thread daemon(Blocking blocking) {
        Thread thread = new Thread(() -> {
            try {
                blocking.run();
            } catch (Exception e) {
                // It was closed.
            }
        });
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    static void inThreads(int count, Runnable task) throws InterruptedException {
        Await.join(Await.startAll(count, "profiled-", i -> task.run()));
    }

    public static void main(String[] arguments) throws Exception {
        for (String argument : arguments) {
            String[] words = argument.split("-");
            switch (words[0]) {
                case "calls": calls(); break;
                case "objects": objects(); break;
                case "brief": brief(); break;
                case "exhaust": exhaust(); break;
                case "contention": contention(); break;
                case "locks": locks(); break;
                case "compute": compute(Integer.parseInt(words[1]), Long.parseLong(words[2])); break;
                case "wait":
                    System.out.println("ready");
                    Await.endOfInput();
                    break;
                default: throw new IllegalArgumentException(argument);
            }
        }
        System.out.println("done");
    }
}

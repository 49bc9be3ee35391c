import java.io.IOException;
import java.net.ServerSocket;
import java.util.concurrent.locks.LockSupport;

/** Threads that begin and end, and one that is in each of the states that a thread can be in. */
public final class Threads extends Thread {
    private static final int COUNT = 10;

    private static int running;
    private static boolean endsAll;

    private Threads(ThreadGroup group, String name) {
        super(group, name);
    }

    public void run() {
        Conform.call("in run", this);
        synchronized (Threads.class) {
            running++;
            while (!endsAll) {
                await(Threads.class);
            }
        }
        Conform.call("in run again");
    }

    static void await(Object monitor) {
        try {
            monitor.wait();
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted.toString());
        }
    }

    private static synchronized boolean allRun() {
        return running == COUNT;
    }

    /** Spins, enters a monitor, waits, and spins again. */
    static final class Blocked extends Thread {
        private final Object monitor;
        private boolean spins = true;
        private boolean hasWaited;
        private boolean notified;
        long turns;

        Blocked(Object monitor) {
            super("blocked");
            this.monitor = monitor;
        }

        synchronized void set(boolean spins) {
            this.spins = spins;
        }

        synchronized boolean spins() {
            turns++;
            return spins;
        }

        synchronized boolean hasWaited() {
            return hasWaited;
        }

        synchronized boolean hasBegun() {
            return turns > 0;
        }

        /** As busy as can be, and in no monitor. */
        private void spin() {
            long work = 0;
            while (spins()) {
                for (int i = 0; i < 100000; i++) {
                    work += i;
                }
            }
            turns += work & 1;
        }

        public void run() {
            spin();
            synchronized (monitor) {
                while (!notified) {
                    Threads.await(monitor);
                }
            }
            set(true);
            synchronized (this) {
                hasWaited = true;
            }
            spin();
        }

        void release() {
            synchronized (monitor) {
                notified = true;
                monitor.notifyAll();
            }
        }
    }

    /** One after the other, so that each can get what the one before it has had. */
    private static void brief(ThreadGroup group, String name) throws InterruptedException {
        Thread thread = new Thread(group, name) {
            public void run() {
                Conform.call("brief");
            }
        };
        thread.start();
        thread.join();
    }

    /** Threads that do nothing, each in its way. */
    private static final class Idle extends Thread {
        Idle(String how) {
            super(how);
            setDaemon(true);
        }

        public void run() {
            try {
                if (getName().equals("sleeps")) {
                    sleep(3600000);
                } else if (getName().equals("waits")) {
                    synchronized (this) {
                        wait(3600000);
                    }
                } else if (getName().equals("is parked")) {
                    LockSupport.park();
                } else {
                    new ServerSocket(0).accept();
                }
            } catch (InterruptedException interrupted) {
                return;
            } catch (IOException failed) {
                throw new IllegalStateException(failed.toString());
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        ThreadGroup outer = new ThreadGroup("outer"), inner = new ThreadGroup(outer, "inner");
        for (int i = 0; i < 100; i++) {
            brief(inner, "");
        }
        brief(outer, "gr\u00f6\u00dfe \\ \"quoted\"\n\ud83d\udca1");
        Thread[] threads = new Thread[COUNT];
        for (int i = 0; i < COUNT; i++) {
            threads[i] = new Threads(inner, "worker-" + i);
            threads[i].start();
        }
        while (!allRun()) {
            Conform.pause();
        }
        for (int i = 0; i < COUNT; i++) {
            Conform.call("worker-" + i);
        }
        synchronized (Threads.class) {
            endsAll = true;
            Threads.class.notifyAll();
        }
        for (int i = 0; i < COUNT; i++) {
            threads[i].join();
        }
        Conform.call("after the end", COUNT);
        Conform.call("self", Thread.currentThread());
        String[] ways = {"accepts", "sleeps", "waits", "is parked"};
        for (int i = 0; i < ways.length; i++) {
            int status = i == 0 ? 1 : 3;
            new Idle(ways[i]).start();
            while (Conform.call(ways[i], status, null) != status) {
                Conform.pause();
            }
        }
        Conform.call("idle");
        states();
    }

    private static void states() throws Exception {
        Object monitor = new Object();
        Blocked blocked = new Blocked(monitor);
        synchronized (monitor) {
            blocked.start();
            while (!blocked.hasBegun()) {
                Conform.pause();
            }
            Conform.call("running");
            blocked.set(false);
            Conform.await("status", 2);
            Conform.call("entering");
        }
        Conform.await("status", 3);
        Conform.call("waiting");
        blocked.release();
        while (!blocked.hasWaited()) {
            Conform.pause();
        }
        blocked.interrupt();
        Conform.call("interrupted");
        Thread.interrupted();
        blocked.set(false);
        blocked.join();
        suspended(monitor);
    }

    /** By Thread.suspend, which later versions of Java do not have. */
    private static void suspended(Object monitor) throws Exception {
        Blocked blocked = new Blocked(monitor);
        blocked.start();
        while (!blocked.hasBegun()) {
            Conform.pause();
        }
        try {
            Thread.class.getMethod("suspend", new Class[0]).invoke(blocked, new Object[0]);
            Conform.call("suspended");
            Thread.class.getMethod("resume", new Class[0]).invoke(blocked, new Object[0]);
        } catch (NoSuchMethodException gone) {
            System.out.println("no Thread.suspend");
        } catch (java.lang.reflect.InvocationTargetException refused) {
            System.out.println("no Thread.suspend");
        }
        blocked.set(false);
        blocked.release();
        while (!blocked.hasWaited()) {
            Conform.pause();
        }
        blocked.set(false);
        blocked.join();
    }
}

/**
 * Two threads in a deadlock, one that wants to enter, two that wait, a monitor entered three times, and two
 * whose owner has notified one of the threads that wait, or all.
 */
final class Deadlock {
    private static final Object LEFT = new Object(), RIGHT = new Object();
    private static final Object WAITED = new Object(), THRICE = new Object(), NOTIFIED = new Object();
    private static final Object ALL_NOTIFIED = new Object();

    public static void main(String[] arguments) throws Exception {
        Object[] locks = {LEFT, RIGHT};
        Thread[] threads = new Thread[2];
        boolean[] holds = new boolean[2];
        for (int i = 0; i < 2; i++) {
            int own = i;
            threads[i] = Await.start("deadlock " + i, () -> {
                synchronized (locks[own]) {
                    synchronized (holds) {
                        holds[own] = true;
                        holds.notifyAll();
                        while (!holds[1 - own]) {
                            holds.wait();
                        }
                    }
                    synchronized (locks[1 - own]) {
                        throw new IllegalStateException();
                    }
                }
            });
        }
        Thread wants = null;
        Thread[] waits = new Thread[2];
        for (int i = 0; i < 2; i++) {
            waits[i] = Await.start("waits " + i, () -> {
                synchronized (WAITED) {
                    WAITED.wait();
                }
            });
        }
        for (Thread thread : threads) {
            Await.state(thread, Thread.State.BLOCKED);
        }
        for (Thread thread : waits) {
            Await.state(thread, Thread.State.WAITING);
        }
        Thread[] notified = new Thread[3];
        for (int i = 0; i < 3; i++) {
            notified[i] = Await.start("notified " + i, () -> {
                synchronized (NOTIFIED) {
                    NOTIFIED.wait();
                }
            });
            // They wait in this order, in which the VM notifies them.
            Await.state(notified[i], Thread.State.WAITING);
        }
        Thread all = Await.start("all notified", () -> {
            synchronized (ALL_NOTIFIED) {
                ALL_NOTIFIED.wait();
            }
        });
        Await.state(all, Thread.State.WAITING);
        synchronized (NOTIFIED) {
            synchronized (ALL_NOTIFIED) {
                NOTIFIED.notify();
                ALL_NOTIFIED.notifyAll();
                Await.state(notified[0], Thread.State.BLOCKED);
                Await.state(all, Thread.State.BLOCKED);
                thrice(0, wants);
            }
        }
    }

    private static void thrice(int depth, Thread wants) throws Exception {
        synchronized (THRICE) {
            if (depth == 0) {
                wants = Await.start("wants", () -> {
                    synchronized (THRICE) {
                        throw new IllegalStateException();
                    }
                });
            }
            if (depth < 2) {
                thrice(depth + 1, wants);
                return;
            }
            Await.state(wants, Thread.State.BLOCKED);
            describe();
            Agent.call("monitors monitors");
            Runtime.getRuntime().halt(0);
        }
    }

    private static void describe() {
        System.out.println("expect left=" + Agent.call("id", LEFT) + " right=" + Agent.call("id", RIGHT)
                + " waited=" + Agent.call("id", WAITED) + " thrice=" + Agent.call("id", THRICE)
                + " notified=" + Agent.call("id", NOTIFIED)
                + " all_notified=" + Agent.call("id", ALL_NOTIFIED));
    }
}

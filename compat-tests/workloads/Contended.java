import java.util.ArrayList;
import java.util.List;

/**
 * Stages contention: one thread owns a monitor until all others wait for it, then they get it one
 * by one. The arguments are how the monitor is entered and left, and how many threads wait for it.
 */
public class Contended {
    private static final int ROUNDS = 3;

    interface Body {
        void run();
    }

    /** How a monitor is owned while the body runs. */
    private enum Way {
        BLOCK {
            @Override
            void own(Contended monitor, Body body) {
                synchronized (monitor) {
                    body.run();
                }
            }
        },
        METHOD {
            @Override
            void own(Contended monitor, Body body) {
                monitor.method(body);
            }
        },
        STATIC {
            @Override
            Object monitor(Contended monitor) {
                return Contended.class;
            }

            @Override
            void own(Contended monitor, Body body) {
                staticMethod(body);
            }
        },
        /** The first ways out are not those that let others in. */
        RECURSIVE {
            @Override
            void own(Contended monitor, Body body) {
                synchronized (monitor) {
                    synchronized (monitor) {
                        monitor.method(body);
                        monitor.method(() -> {});
                    }
                    monitor.deeper(3);
                }
            }
        },
        /** A monitor that nobody waits for is left meanwhile, one after the other in one method. */
        BESIDE {
            private final Object other = new Object();

            @Override
            void own(Contended monitor, Body body) {
                synchronized (monitor) {
                    body.run();
                    synchronized (other) {
                        own(other);
                    }
                }
                synchronized (other) {
                    own(other);
                }
            }

            private void own(Object object) {
                synchronized (object) {
                    object.hashCode();
                }
            }
        },
        THROWN {
            @Override
            void own(Contended monitor, Body body) {
                try {
                    synchronized (monitor) {
                        body.run();
                        throw new Left();
                    }
                } catch (Left left) {
                    return;
                }
            }
        },
        METHOD_THROWN {
            @Override
            void own(Contended monitor, Body body) {
                try {
                    monitor.throwing(body);
                } catch (Left left) {
                    return;
                }
            }
        };

        Object monitor(Contended monitor) {
            return monitor;
        }

        abstract void own(Contended monitor, Body body);
    }

    private static final class Left extends RuntimeException {
        Left() {
            super(null, null, false, false);
        }
    }

    private synchronized void method(Body body) {
        body.run();
    }

    private static synchronized void staticMethod(Body body) {
        body.run();
    }

    private synchronized void throwing(Body body) {
        body.run();
        throw new Left();
    }

    private synchronized void deeper(int levels) {
        if (levels > 0) {
            deeper(levels - 1);
        }
    }

    private static int inside;

    public static void main(String[] arguments) throws InterruptedException {
        Way way = Way.valueOf(arguments[0]);
        int waiters = Integer.parseInt(arguments[1]);
        Contended object = new Contended();
        Object monitor = way.monitor(object);
        Agent.call("watch contended", monitor);
        // The first round is interpreted, the last one compiled.
        for (int round = 0; round < ROUNDS; round++) {
            stage(way, object, monitor, waiters);
            for (int i = 0; i < 20_000; i++) {
                way.own(object, () -> inside++);
            }
        }
        System.out.println("expect rounds=" + ROUNDS + " inside=" + inside);
    }

    private static void stage(Way way, Contended object, Object monitor, int waiters) throws InterruptedException {
        long before = Agent.call("enters", monitor);
        List<Thread> threads = new ArrayList<>();
        way.own(object, () -> {
            for (int i = 0; i < waiters; i++) {
                Thread thread = new Thread(() -> way.own(object, () -> inside++), "waiter-" + i);
                thread.start();
                threads.add(thread);
            }
            threads.forEach(thread -> Await.state(thread, Thread.State.BLOCKED));
            Await.until("all to wait", () -> Agent.call("enters", monitor) == before + waiters);
        });
        for (Thread thread : threads) {
            thread.join();
        }
    }
}

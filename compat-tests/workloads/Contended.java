import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Stages contention: one thread owns a monitor until all others wait for it, then they get it one
 * by one. The arguments are how many threads wait for it, and the ways in which it is entered and left.
 */
public class Contended {
    private static final int ROUNDS = 3;

    interface Body {
        void run();
    }

    /** The ways to own a monitor while the body runs. */
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
        /** In a file of Java 1.4; its code cannot push classes. */
        OLD_STATIC {
            private final Object owner = old();

            @Override
            Object monitor(Contended monitor) {
                return owner.getClass();
            }

            @Override
            @SuppressWarnings("unchecked")
            void own(Contended monitor, Body body) {
                ((Consumer<Runnable>) owner).accept(body::run);
            }

            private Object old() {
                try {
                    return new OldVersion(48).make("Contended$Old");
                } catch (ReflectiveOperationException e) {
                    throw new IllegalStateException(e);
                }
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
        },
        /** Native code enters and leaves it, also around code that does. */
        JNI {
            @Override
            void own(Contended monitor, Body body) {
                Agent.call("lock", monitor);
                monitor.method(body);
                Agent.call("lock", monitor);
                monitor.method(() -> {});
                Agent.call("unlock", monitor);
                Agent.call("unlock", monitor);
            }
        },
        /** A native method enters and leaves it, also inside of others that do. */
        NATIVE {
            @Override
            void own(Contended monitor, Body body) {
                monitor.inNative(() -> {
                    monitor.inNative(body);
                    monitor.method(() -> monitor.inNative(() -> {}));
                });
            }
        },
        NATIVE_STATIC {
            @Override
            Object monitor(Contended monitor) {
                return Contended.class;
            }

            @Override
            void own(Contended monitor, Body body) {
                inStaticNative(1, 2.0, body);
            }
        },
        NATIVE_THROWN {
            @Override
            void own(Contended monitor, Body body) {
                try {
                    monitor.inNative(() -> {
                        body.run();
                        throw new Left();
                    });
                } catch (Left left) {
                    return;
                }
            }
        },
        /** A class of the JDK enters and leaves it, which was loaded before the events came on. */
        LIBRARY {
            private final Map<String, Object> map = Collections.synchronizedMap(new HashMap<>());

            @Override
            Object monitor(Contended monitor) {
                return map;
            }

            @Override
            void own(Contended monitor, Body body) {
                boolean returns = ++owned % 2 == 0;
                try {
                    map.computeIfAbsent("key", key -> {
                        body.run();
                        if (returns) {
                            return null;
                        }
                        throw new Left();
                    });
                } catch (Left left) {
                    return;
                }
            }
        };

        private static volatile int owned;

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

    public static final class Old implements Consumer<Runnable> {
        @Override
        public void accept(Runnable body) {
            own(body);
        }

        private static synchronized void own(Runnable body) {
            body.run();
        }
    }

    private native synchronized void inNative(Body body);

    private static native synchronized int inStaticNative(int n, double x, Body body);

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
        int waiters = Integer.parseInt(arguments[0]);
        for (int i = 1; i < arguments.length; i++) {
            Contended object = new Contended();
            Agent.call("watch " + arguments[i], object);
            switch (arguments[i]) {
                case "WAIT":
                    letIn(object, waiters);
                    break;
                case "NOTIFIED":
                    wakeUp(object, waiters);
                    break;
                case "SWITCHED":
                    switchEvents(object, waiters);
                    break;
                default:
                    handOn(Way.valueOf(arguments[i]), object, waiters);
            }
        }
        System.out.println("expect rounds=" + ROUNDS + " inside=" + inside);
    }

    /** The first round is interpreted, the last one compiled. */
    private static void handOn(Way way, Contended object, int waiters) throws InterruptedException {
        if (way.monitor(object) != object) {
            Agent.call("watch " + way, way.monitor(object));
        }
        if (way == Way.LIBRARY) {
            all("enable");
        }
        for (int round = 0; round < ROUNDS; round++) {
            stage(way, object, waiters, waiters, () -> {});
            for (int i = 0; i < 20_000; i++) {
                way.own(object, () -> inside++);
            }
        }
    }

    /** The owner waits until all others have been in: once as an owner that has entered twice. */
    private static void letIn(Contended object, int waiters) throws InterruptedException {
        for (int round = 0; round < ROUNDS; round++) {
            int all = inside + waiters;
            Way way = round == 1 ? Way.METHOD : Way.BLOCK;
            stage(way, object, waiters, waiters, () -> {
                synchronized (object) {
                    object.await(all);
                }
            });
        }
    }

    /** Has threads wait, and ends that while the monitor is owned. */
    private static void wakeUp(Contended object, int waiters) throws InterruptedException {
        for (int round = 0; round < ROUNDS; round++) {
            wakeUp(object, waiters, "notified", thread -> object.notify());
            wakeUp(object, waiters, "interrupted", Thread::interrupt);
        }
    }

    private static void wakeUp(Contended object, int waiters, String name, Consumer<Thread> wake)
            throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < waiters; i++) {
            Thread thread = new Thread(object::waitOnce, name + "-" + i);
            thread.start();
            threads.add(thread);
            Await.state(thread, Thread.State.WAITING);
            synchronized (object) {
                // It has let go of the monitor, so that the next one finds it free.
                inside++;
            }
        }
        synchronized (object) {
            threads.forEach(wake);
            threads.forEach(thread -> Await.state(thread, Thread.State.BLOCKED));
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private synchronized void waitOnce() {
        try {
            wait();
        } catch (InterruptedException interrupted) {
            return;
        }
        inside++;
    }

    private void await(int all) {
        target = all;
        while (inside < all) {
            try {
                wait();
            } catch (InterruptedException interrupted) {
                throw new IllegalStateException(interrupted);
            }
        }
    }

    private static int target;

    private static void enter(Contended object) {
        inside++;
        if (inside == target) {
            object.notify();
        }
    }

    /** The events go off while threads wait, and on while others do. */
    private static void switchEvents(Contended object, int waiters) throws InterruptedException {
        stage(Way.BLOCK, object, waiters, waiters, () -> all("disable"));
        stage(Way.BLOCK, object, waiters, 0, () -> all("enable"));
        stage(Way.BLOCK, object, 1, 1, () -> {});
    }

    private static void all(String change) {
        for (int event = 54; event <= 56; event++) {
            Agent.call(change + " " + event);
        }
    }

    /** Makes threads wait until the agent has seen {@code told} of them, and runs {@code then} before they get in. */
    private static void stage(Way way, Contended object, int waiters, int told, Body then)
            throws InterruptedException {
        Object monitor = way.monitor(object);
        long before = Agent.call("enters", monitor);
        List<Thread> threads = new ArrayList<>();
        way.own(object, () -> {
            for (int i = 0; i < waiters; i++) {
                Thread thread = new Thread(() -> way.own(object, () -> enter(object)), "waiter-" + i);
                thread.start();
                threads.add(thread);
            }
            threads.forEach(thread -> Await.state(thread, Thread.State.BLOCKED));
            Await.until("all to wait", () -> Agent.call("enters", monitor) == before + told);
            then.run();
        });
        for (Thread thread : threads) {
            thread.join();
        }
    }
}

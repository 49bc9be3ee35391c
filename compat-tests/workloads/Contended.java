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

    /** Owns a monitor while the body runs. */
    interface Way {
        void own(Contended monitor, Body body);
    }

    private static final Map<String, Way> WAYS = new HashMap<>();
    /** The monitors of ways that own another one than the object. */
    private static final Map<String, Object> MONITORS = new HashMap<>();

    private static final Object OTHER = new Object();
    private static final Map<String, Object> LIBRARY = Collections.synchronizedMap(new HashMap<>());
    private static int owned;

    static {
        WAYS.put("BLOCK", (monitor, body) -> {
            synchronized (monitor) {
                body.run();
            }
        });
        WAYS.put("METHOD", Contended::method);
        WAYS.put("STATIC", (monitor, body) -> staticMethod(body));
        MONITORS.put("STATIC", Contended.class);
        // The first ways out are not those that let others in.
        WAYS.put("RECURSIVE", (monitor, body) -> {
            synchronized (monitor) {
                synchronized (monitor) {
                    monitor.method(body);
                    monitor.method(() -> {});
                }
                monitor.deeper(3);
            }
        });
        // A monitor that nobody waits for is left meanwhile, one after the other in one method.
        WAYS.put("BESIDE", (monitor, body) -> {
            synchronized (monitor) {
                body.run();
                synchronized (OTHER) {
                    touch(OTHER);
                }
            }
            synchronized (OTHER) {
                touch(OTHER);
            }
        });
        WAYS.put("THROWN", catching((monitor, body) -> {
            synchronized (monitor) {
                body.run();
                throw new Left();
            }
        }));
        WAYS.put("METHOD_THROWN", catching(Contended::throwing));
        // Native code enters and leaves it, also around code that does.
        WAYS.put("JNI", (monitor, body) -> {
            Agent.call("lock", monitor);
            monitor.method(body);
            Agent.call("lock", monitor);
            monitor.method(() -> {});
            Agent.call("unlock", monitor);
            Agent.call("unlock", monitor);
        });
        // A native method enters and leaves it, also inside of others that do.
        WAYS.put("NATIVE", (monitor, body) -> monitor.inNative(() -> {
            monitor.inNative(body);
            monitor.method(() -> monitor.inNative(() -> {}));
        }));
        WAYS.put("NATIVE_STATIC", (monitor, body) -> inStaticNative(1, 2.0, body));
        MONITORS.put("NATIVE_STATIC", Contended.class);
        WAYS.put("NATIVE_THROWN", catching((monitor, body) -> monitor.inNative(() -> {
            body.run();
            throw new Left();
        })));
        // A class of the JDK enters and leaves it, which was loaded before the events came on.
        WAYS.put("LIBRARY", catching((monitor, body) -> {
            boolean returns = ++owned % 2 == 0;
            LIBRARY.computeIfAbsent("key", key -> {
                body.run();
                if (returns) {
                    return null;
                }
                throw new Left();
            });
        }));
        MONITORS.put("LIBRARY", LIBRARY);
    }

    /** A class in a file of Java 1.4; its code cannot push classes. */
    private static void addOld() throws ReflectiveOperationException {
        @SuppressWarnings("unchecked")
        Consumer<Runnable> old = (Consumer<Runnable>) new OldVersion(48).make("Contended$Old");
        WAYS.put("OLD_STATIC", (monitor, body) -> old.accept(body::run));
        MONITORS.put("OLD_STATIC", old.getClass());
    }

    private static Way catching(Way way) {
        return (monitor, body) -> {
            try {
                way.own(monitor, body);
            } catch (Left left) {
                return;
            }
        };
    }

    private static void touch(Object object) {
        synchronized (object) {
            object.hashCode();
        }
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

    public static void main(String[] arguments) throws Exception {
        addOld();
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
                    handOn(arguments[i], object, waiters);
            }
        }
        System.out.println("expect rounds=" + ROUNDS + " inside=" + inside);
    }

    /** The first round is interpreted, the last one compiled. */
    private static void handOn(String way, Contended object, int waiters) throws InterruptedException {
        if (MONITORS.getOrDefault(way, object) != object) {
            Agent.call("watch " + way, MONITORS.getOrDefault(way, object));
        }
        if (way.equals("LIBRARY")) {
            all("enable");
        }
        for (int round = 0; round < ROUNDS; round++) {
            stage(way, object, waiters, waiters, () -> {});
            for (int i = 0; i < 20_000; i++) {
                WAYS.get(way).own(object, () -> inside++);
            }
        }
    }

    /** The owner waits until all others have been in: once as an owner that has entered twice. */
    private static void letIn(Contended object, int waiters) throws InterruptedException {
        for (int round = 0; round < ROUNDS; round++) {
            int all = inside + waiters;
            String way = round == 1 ? "METHOD" : "BLOCK";
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
        Await.join(threads);
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
            Await.run(this::wait);
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
        stage("BLOCK", object, waiters, waiters, () -> all("disable"));
        stage("BLOCK", object, waiters, 0, () -> all("enable"));
        stage("BLOCK", object, 1, 1, () -> {});
    }

    private static void all(String change) {
        for (int event = 54; event <= 56; event++) {
            Agent.call(change + " " + event);
        }
    }

    /** Makes threads wait until the agent has seen {@code told} of them, and runs {@code then} before they get in. */
    private static void stage(String way, Contended object, int waiters, int told, Body then)
            throws InterruptedException {
        Object monitor = MONITORS.getOrDefault(way, object);
        long before = Agent.call("enters", monitor);
        List<Thread> threads = new ArrayList<>();
        WAYS.get(way).own(object, () -> {
            for (int i = 0; i < waiters; i++) {
                Thread thread = new Thread(() -> WAYS.get(way).own(object, () -> enter(object)), "waiter-" + i);
                thread.start();
                threads.add(thread);
            }
            threads.forEach(thread -> Await.state(thread, Thread.State.BLOCKED));
            Await.until("all to wait", () -> Agent.call("enters", monitor) == before + told);
            then.run();
        });
        Await.join(threads);
    }
}

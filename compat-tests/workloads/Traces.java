import java.io.InputStream;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** Has the agent take traces in many situations. The argument chooses one. */
final class Traces {
    private static volatile long work;

    public static void main(String[] arguments) throws Exception {
        Agent.call("self 1");
        switch (arguments[0]) {
            case "known": outer(1); break;
            case "hot":
                for (int i = 0; i < 200_000; i++) {
                    work += inlined(i);
                }
                work += inlined(-1);
                break;
            case "depth":
                depth(20, 0);
                depth(20, -5);
                depth(20, 1);
                depth(20, 7);
                depth(20, 900);
                break;
            case "other": other(); break;
            case "announced": announced(); break;
            default: withoutLines();
        }
    }

    private static void outer(int i) {
        new Traces().middle("text", i);
    }

    private void middle(String text, long i) {
        inner(new int[] {(int) i});
    }

    private static synchronized void inner(int[] numbers) {
        Agent.call("self 100"); print(new Throwable());
    }

    private static long inlined(int i) {
        return i + deeper(i);
    }

    private static long deeper(int i) {
        if (i < 0) {
            Agent.call("self 100"); print(new Throwable());
        }
        return i;
    }

    /** The stack as Java sees it. */
    private static void print(Throwable here) {
        for (StackTraceElement frame : here.getStackTrace()) {
            System.out.println("expect method=\"" + frame.getClassName() + "." + frame.getMethodName()
                    + "\" line=" + frame.getLineNumber() + " source=\"" + frame.getFileName() + "\"");
        }
    }

    private static void depth(int calls, int depth) {
        if (calls > 0) {
            depth(calls - 1, depth);
            return;
        }
        System.out.println("expect depth=" + depth + " frames=" + Agent.call("self " + depth)
                + " all=" + (new Throwable().getStackTrace().length + 2));
    }

    private static void spin() {
        while (true) {
            work++;
        }
    }

    private static void waitHere() {
        while (true) {
            LockSupport.park();
        }
    }

    private static void other() {
        Thread spinning = new Thread(Traces::spin, "spinning");
        Thread waiting = new Thread(Traces::waitHere, "waiting");
        spinning.setDaemon(true);
        waiting.setDaemon(true);
        spinning.start();
        waiting.start();
        Await.state(waiting, Thread.State.WAITING);
        Await.until("work", () -> work > 0);
        Agent.call("other 100 waiting");
        Agent.call("other 100 spinning");
        Agent.call("suspended 100 waiting");
        Agent.call("suspended 100 spinning");
    }

    interface Shape {
        long area();
    }

    /** Code that the JVM makes up: lambdas, proxies, reflection, generated classes. */
    private static void announced() throws Exception {
        Supplier<Long> lambda = () -> Agent.call("self 100");
        lambda.get();
        Supplier<Long> reference = Traces::call;
        reference.get();
        Stream.of(1, 2).map(i -> Agent.call("self 100")).forEach(n -> work += n);
        Shape shape = (Shape) Proxy.newProxyInstance(Traces.class.getClassLoader(),
                new Class<?>[] {Shape.class}, (proxy, method, values) -> Agent.call("self 100"));
        shape.area();
        for (int i = 0; i < 20; i++) {
            Traces.class.getDeclaredMethod("call").invoke(null);
        }
        Traces.class.getDeclaredConstructor(int.class).newInstance(1);
        Callable<Long> anonymous = new Callable<Long>() {
            @Override
            public Long call() {
                return Agent.call("self 100");
            }
        };
        anonymous.call();
        Object[] sorted = {3, 1, 2};
        Arrays.sort(sorted, (a, b) -> {
            Agent.call("self 100");
            return (Integer) a - (Integer) b;
        });
        Thread thread = new Thread(() -> Agent.call("self 100"));
        thread.start();
        thread.join();
        System.out.println("expect text=" + ("done" + work).length());
    }

    private static long call() {
        return Agent.call("self 100");
    }

    private Traces() {}

    private Traces(int unused) {
        Agent.call("self 100");
    }

    public static final class Lineless implements Runnable {
        public void run() {
            Agent.call("self 100");
        }
    }

    private static final class Loader extends ClassLoader {
        Loader() {
            super(Traces.class.getClassLoader());
        }

        Class<?> define(byte[] file) {
            return defineClass("Traces$Lineless", file, 0, file.length);
        }
    }

    /** The class's line table under a name that no JVM knows. */
    private static void withoutLines() throws Exception {
        byte[] file = new byte[65536];
        int length = 0;
        try (InputStream in = Traces.class.getResourceAsStream("Traces$Lineless.class")) {
            for (int n; (n = in.read(file, length, file.length - length)) > 0; ) {
                length += n;
            }
        }
        byte[] name = "LineNumberTable".getBytes("US-ASCII");
        for (int i = 0; i < length - name.length; i++) {
            if (Arrays.equals(Arrays.copyOfRange(file, i, i + name.length), name)) {
                file[i] = 'X';
            }
        }
        Class<?> type = new Loader().define(Arrays.copyOf(file, length));
        ((Runnable) type.getDeclaredConstructor().newInstance()).run();
    }
}

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/** Calls the agent at known places. Some methods stand on one line, so that it is known. */
public final class Traces extends Thread {
    private final boolean dies;

    private Traces(boolean dies) {
        this.dies = dies;
        setDaemon(true);
    }

    public synchronized void run() {
        Conform.call(dies ? "dies" : "waits");
        while (!dies) {
            try {
                wait();
            } catch (InterruptedException interrupted) {
                return;
            }
        }
    }

    static final class Made {
        Made() {
            Conform.call("constructor");
        }
    }

    static final class Initialized {
        static final int VALUE = Conform.call("initializer");
    }

    private static void first() { second(); }

    private static void second() { third(); }

    private static void third() { Conform.call("trace"); }

    private static void recursive(int depth, int all) {
        if (depth == 1) {
            Conform.call("recursive", all);
        } else {
            recursive(depth - 1, all);
        }
    }

    public static void main(String[] arguments) {
        first();
        recursive(50, 50);
        InvocationHandler handler = new InvocationHandler() {
            public Object invoke(Object proxy, Method method, Object[] values) {
                Conform.call("without lines");
                return null;
            }
        };
        Class[] types = {Runnable.class};
        ((Runnable) Proxy.newProxyInstance(Traces.class.getClassLoader(), types, handler)).run();
        new Made();
        if (Initialized.VALUE == 0) {
            new Traces(false).start();
            Conform.await("is waiting", 1);
            Traces dying = new Traces(true);
            dying.start();
            Conform.join(dying);
            Conform.call("others");
        }
    }
}

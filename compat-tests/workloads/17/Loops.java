import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongUnaryOperator;

/** Has the agent sample threads that compute in loops of several kinds. */
final class Loops {
    private static final int SAMPLES = 150;
    private static final VarHandle HANDLE;
    private static volatile boolean stop;
    private static volatile long field;
    private static final Object LOCK = new Object();
    private static final byte[] FROM = new byte[4096], TO = new byte[4096];

    static {
        try {
            HANDLE = MethodHandles.lookup().findStaticVarHandle(Loops.class, "field", long.class);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Map<String, Runnable> loops = new TreeMap<>();
        loops.put("handle", Loops::handle);
        loops.put("swapping", Loops::swapping);
        loops.put("copying", Loops::copying);
        loops.put("comparing", Loops::comparing);
        loops.put("locking", Loops::locking);
        loops.put("allocating", Loops::allocating);
        loops.put("calling", Loops::calling);
        loops.put("entering", Loops::entering);
        for (Map.Entry<String, Runnable> loop : loops.entrySet()) {
            sample(loop.getKey(), loop.getValue());
        }
    }

    private static void sample(String name, Runnable loop) throws InterruptedException {
        Thread thread = new Thread(loop, name);
        stop = false;
        long before = field;
        thread.start();
        Await.until(name + " to run", () -> field != before);
        long samples = Agent.call("sampled " + SAMPLES + " " + name);
        samples += Agent.call("asked " + SAMPLES + " " + name);
        stop = true;
        thread.join();
        System.out.println("expect loop=" + name + " samples=" + samples);
    }

    private static void handle() {
        long i = 1;
        while (!stop) {
            HANDLE.setVolatile(i++);
        }
    }

    private static void swapping() {
        while (!stop) {
            HANDLE.compareAndSet(field, field + 1);
        }
    }

    private static void copying() {
        while (!stop) {
            System.arraycopy(FROM, (int) (field & 7), TO, 0, 4000);
            field++;
        }
    }

    private static void comparing() {
        while (!stop) {
            field += Arrays.equals(FROM, TO) ? 1 : 2;
        }
    }

    private static void locking() {
        while (!stop) {
            synchronized (LOCK) {
                field++;
            }
        }
    }

    /** Its method must not be inlined. */
    private static void entering() {
        while (!stop) {
            enter();
        }
    }

    private static synchronized void enter() {
        field++;
    }

    private static void allocating() {
        while (!stop) {
            field += new long[100].length;
        }
    }

    private static void calling() {
        LongUnaryOperator[] operators = {x -> x + 1, x -> x + 2, x -> x + 3, x -> x + 4};
        while (!stop) {
            field = operators[(int) (field & 3)].applyAsLong(field);
        }
    }
}

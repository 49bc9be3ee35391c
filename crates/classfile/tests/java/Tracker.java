import java.util.Map;
import java.util.TreeMap;

/** What the probes call; prints what it saw when the JVM ends. All in one thread. */
public class Tracker {
    public static boolean enabled = true;

    private static final int[] stack = new int[10_000];
    private static final int[] entries = new int[10_000];
    private static final int[] exits = new int[10_000];
    private static final Map<String, Integer> objects = new TreeMap<>();
    private static int depth;
    private static int left;

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(Tracker::report));
    }

    public static void enter(int method) {
        entries[method]++;
        stack[depth++] = method;
    }

    public static void enter(Object receiver, int method) {
        objects.merge("receiver " + receiver.getClass().getName(), 1, Integer::sum);
        enter(method);
    }

    /**
     * Leaves the method, and those entered later: constructors whose call of super() failed, which
     * no handler can see.
     */
    public static void exit(int method) {
        while (stack[--depth] != method) {
            exits[stack[depth]]++;
            left++;
        }
        exits[method]++;
    }

    public static void allocated(Object object) {
        objects.merge("allocated " + object.getClass().getTypeName(), 1, Integer::sum);
    }

    /** Throws what the program is ready for where it leaves a monitor. */
    public static void refuse() {
        objects.merge("refused", 1, Integer::sum);
        throw new ArrayIndexOutOfBoundsException();
    }

    private static void report() {
        for (int method = 0; method < entries.length; method++) {
            if (entries[method] + exits[method] > 0) {
                System.err.println(method + " " + entries[method] + " " + exits[method]);
            }
        }
        objects.forEach((what, count) -> System.err.println(what + " " + count));
        System.err.println("depth " + depth + ", left late " + left);
    }
}

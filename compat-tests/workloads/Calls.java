import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;
import javax.management.ObjectName;

/** Methods of every kind, which count their own calls. */
final class Calls {
    /** Counts the calls of a method; only one thread at a time calls it. */
    static final class Counter {
        static final List<Counter> ALL = new ArrayList<>();
        final String method;
        int calls;

        Counter(String method) {
            this.method = method;
            ALL.add(this);
        }
    }

    static final Counter FIB = new Counter("Calls.fib");
    static final Counter REWRITTEN = new Counter("Calls.rewritten");
    static final Counter DEEP = new Counter("Calls.deep");
    static final Counter CATCHING = new Counter("Calls.catching");
    static final Counter FINALLY = new Counter("Calls.lastly");
    static final Counter OVERRIDING = new Counter("Calls.overriding");
    static final Counter TO_ZERO = new Counter("Calls.toZero");
    static final Counter FOREVER = new Counter("Calls.foreverAtZero");
    static final Counter ARGUMENTS = new Counter("Calls.arguments");
    static final Counter WIDE = new Counter("Calls.wide");
    static final Counter TABLE = new Counter("Calls.table");
    static final Counter LOOKUP = new Counter("Calls.lookup");
    static final Counter LOCKED = new Counter("Calls.locked");
    static final Counter LOCKED_STATIC = new Counter("Calls.lockedStatic");
    static final Counter LAMBDA = new Counter("Calls.lambda");
    static final Counter DEFAULT = new Counter("Calls$Shape.area");
    static final Counter INITIALIZER = new Counter("Calls$Lazy.<clinit>");
    static final Counter FAILING = new Counter("Calls$Broken.<clinit>");
    static final Counter BASE = new Counter("Calls$Base.<init>");
    static final Counter DERIVED = new Counter("Calls$Derived.<init>");
    static final Counter THROWING = new Counter("Calls$Throwing.<init>");
    static final Counter TOUCH = new Counter("Calls$Receiver.touch");
    static final Counter RECEIVER = new Counter("Calls$Receiver.<init>");
    static final Counter EMPTY = new Counter("Calls.empty");
    static final Counter GENERIC = new Counter("Calls$Text.compareTo");

    static int fib(int n) {
        FIB.calls++;
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static int deep(int depth) {
        DEEP.calls++;
        if (depth == 0) {
            throw new IllegalStateException("from below");
        }
        return depth % 3 == 0 ? catching(depth - 1) : depth % 3 == 1 ? lastly(depth - 1) : deep(depth - 1);
    }

    static int catching(int depth) {
        CATCHING.calls++;
        try {
            return deep(depth);
        } catch (IllegalStateException e) {
            throw new IllegalStateException(e.getMessage());
        }
    }

    static int lastly(int depth) {
        FINALLY.calls++;
        try {
            return deep(depth);
        } finally {
            FINALLY.calls += 0;
        }
    }

    @SuppressWarnings("finally")
    static int overriding(int depth) {
        OVERRIDING.calls++;
        try {
            return deep(depth);
        } finally {
            return 7;
        }
    }

    /** Branches to its first instruction. */
    static int toZero(int i) {
        do {
            i--;
        } while (i > 0);
        return i;
    }

    /** The same, and is left by an exception only. */
    static int foreverAtZero(int[] array, int i) {
        while (true) {
            array[i++] = i;
        }
    }

    static double arguments(long a, int b, double c, float d, byte e, long[] f, double g, String h) {
        ARGUMENTS.calls++;
        return a + b + c + d + e + f[0] + g + h.length();
    }

    /** Has more than 256 local variables. */
    static long wide(long a) {
        long b0 = a, b1 = b0 + a, b2 = b1 + a, b3 = b2 + a, b4 = b3 + a, b5 = b4 + a, b6 = b5 + a, b7 = b6 + a;
        long c0 = b7, c1 = c0 + a, c2 = c1 + a, c3 = c2 + a, c4 = c3 + a, c5 = c4 + a, c6 = c5 + a, c7 = c6 + a;
        long d0 = c7, d1 = d0 + a, d2 = d1 + a, d3 = d2 + a, d4 = d3 + a, d5 = d4 + a, d6 = d5 + a, d7 = d6 + a;
        long e0 = d7, e1 = e0 + a, e2 = e1 + a, e3 = e2 + a, e4 = e3 + a, e5 = e4 + a, e6 = e5 + a, e7 = e6 + a;
        long f0 = e7, f1 = f0 + a, f2 = f1 + a, f3 = f2 + a, f4 = f3 + a, f5 = f4 + a, f6 = f5 + a, f7 = f6 + a;
        long g0 = f7, g1 = g0 + a, g2 = g1 + a, g3 = g2 + a, g4 = g3 + a, g5 = g4 + a, g6 = g5 + a, g7 = g6 + a;
        long h0 = g7, h1 = h0 + a, h2 = h1 + a, h3 = h2 + a, h4 = h3 + a, h5 = h4 + a, h6 = h5 + a, h7 = h6 + a;
        long i0 = h7, i1 = i0 + a, i2 = i1 + a, i3 = i2 + a, i4 = i3 + a, i5 = i4 + a, i6 = i5 + a, i7 = i6 + a;
        long j0 = i7, j1 = j0 + a, j2 = j1 + a, j3 = j2 + a, j4 = j3 + a, j5 = j4 + a, j6 = j5 + a, j7 = j6 + a;
        long k0 = j7, k1 = k0 + a, k2 = k1 + a, k3 = k2 + a, k4 = k3 + a, k5 = k4 + a, k6 = k5 + a, k7 = k6 + a;
        long l0 = k7, l1 = l0 + a, l2 = l1 + a, l3 = l2 + a, l4 = l3 + a, l5 = l4 + a, l6 = l5 + a, l7 = l6 + a;
        long m0 = l7, m1 = m0 + a, m2 = m1 + a, m3 = m2 + a, m4 = m3 + a, m5 = m4 + a, m6 = m5 + a, m7 = m6 + a;
        long n0 = m7, n1 = n0 + a, n2 = n1 + a, n3 = n2 + a, n4 = n3 + a, n5 = n4 + a, n6 = n5 + a, n7 = n6 + a;
        long o0 = n7, o1 = o0 + a, o2 = o1 + a, o3 = o2 + a, o4 = o3 + a, o5 = o4 + a, o6 = o5 + a, o7 = o6 + a;
        long p0 = o7, p1 = p0 + a, p2 = p1 + a, p3 = p2 + a, p4 = p3 + a, p5 = p4 + a, p6 = p5 + a, p7 = p6 + a;
        long q0 = p7, q1 = q0 + a, q2 = q1 + a, q3 = q2 + a, q4 = q3 + a, q5 = q4 + a, q6 = q5 + a, q7 = q6 + a;
        int counter = 0;
        for (int i = 0; i < 3; i++) {
            counter += 200;
        }
        WIDE.calls++;
        return q7 + counter;
    }

    static int table(int i) {
        TABLE.calls++;
        switch (i) {
            case -1: return 10;
            case 0: return 11;
            case 1: return 12;
            case 3: return 13;
            default: return 14;
        }
    }

    static int lookup(String s) {
        LOOKUP.calls++;
        switch (s) {
            case "one": return 1;
            case "a thousand": return 2;
            case "million": return 3;
            default: throw new IllegalArgumentException(s);
        }
    }

    synchronized int locked(boolean fail) {
        LOCKED.calls++;
        if (fail) {
            throw new IllegalStateException();
        }
        return 1;
    }

    static synchronized int lockedStatic() {
        LOCKED_STATIC.calls++;
        return 1;
    }

    static IntUnaryOperator counting() {
        return i -> {
            LAMBDA.calls++;
            return i + 1;
        };
    }

    static void empty() {}

    interface Shape {
        default int area() {
            DEFAULT.calls++;
            return 3;
        }
    }

    static final class Square implements Shape {}

    static final class Lazy {
        static final int VALUE = new ArrayList<>().size();

        static {
            INITIALIZER.calls++;
        }
    }

    static final class Broken {
        static {
            FAILING.calls++;
            if (FAILING.calls > 0) {
                throw new IllegalStateException("cannot be initialized");
            }
        }

        static void never() {}
    }

    static class Base {
        final long value;

        Base(long value) {
            BASE.calls++;
            if (value < 0) {
                throw new IllegalArgumentException("negative");
            }
            this.value = value;
        }
    }

    /** Calls another method, and branches, before its super constructor. */
    static final class Derived extends Base {
        Derived(int value) {
            super(value > 5 ? Calls.table(value) : value < 0 ? -1 : value);
            DERIVED.calls++;
        }

        Derived() {
            this(3);
            DERIVED.calls++;
        }
    }

    static final class Throwing {
        Throwing() {
            THROWING.calls++;
            throw new IllegalStateException();
        }
    }

    static final class Receiver {
        Receiver() {
            RECEIVER.calls++;
        }

        boolean touch() {
            TOUCH.calls++;
            return Agent.call("receiver", this) == 1;
        }
    }

    /** Has a bridge method. */
    static final class Text implements Comparable<Text> {
        @Override
        public int compareTo(Text other) {
            GENERIC.calls++;
            return 0;
        }
    }

    static boolean fails(Runnable action) {
        try {
            action.run();
            return false;
        } catch (RuntimeException | ExceptionInInitializerError | NoClassDefFoundError e) {
            return true;
        }
    }

    static void check(String what, boolean holds) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    static void round() {
        check("fib", fib(12) == 144);
        check("deep", fails(() -> deep(40)));
        check("overriding", overriding(20) == 7);
        check("toZero", toZero(100) == 0);
        TO_ZERO.calls++;
        check("foreverAtZero", fails(() -> foreverAtZero(new int[9], 0)));
        FOREVER.calls++;
        check("arguments", arguments(1, 2, 3, 4, (byte) 5, new long[] {6}, 7, "12345678") == 36);
        check("wide", wide(2) == 226 + 600 + 0 * 2);
        for (int i = -3; i < 6; i++) {
            table(i);
        }
        check("lookup", lookup("one") + lookup("a thousand") + lookup("million") == 6);
        check("default", fails(() -> lookup("nothing")));
        Calls calls = new Calls();
        check("locked", calls.locked(false) == 1 && fails(() -> calls.locked(true)));
        check("free", !Thread.holdsLock(calls));
        check("lockedStatic", lockedStatic() == 1);
        check("lambda", counting().andThen(counting()).applyAsInt(1) == 3);
        check("default method", new Square().area() == 3);
        check("Lazy", Lazy.VALUE == 0);
        check("Broken", fails(Broken::never));
        check("Derived", new Derived().value == 3 && new Derived(9).value == 14);
        check("Throwing", fails(Throwing::new));
        @SuppressWarnings({"unchecked", "rawtypes"})
        Comparable<Object> raw = (Comparable) new Text();
        check("bridge", raw.compareTo(new Text()) == 0);
        GENERIC.calls++;
        empty();
        EMPTY.calls++;
    }

    private static void rounds(int count) {
        for (int i = 0; i < count; i++) {
            round();
        }
    }

    static void expect() {
        for (Counter counter : Counter.ALL) {
            System.out.println("expect method=\"" + counter.method + "\" calls=" + counter.calls);
        }
    }

    /** Each object is called twice in each round, while objects move, die and are replaced. */
    private static void moved() throws Exception {
        final int rounds = 30;
        Receiver[] kept = new Receiver[500];
        boolean[] over = new boolean[1];
        Thread churn = new Thread(() -> {
            while (!isOver(over)) {
                garbage = new byte[1 << 16];
            }
        });
        churn.start();
        long wrong = 0;
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < kept.length; i++) {
                if (kept[i] == null || (i + round) % 5 == 0) {
                    kept[i] = new Receiver();
                }
                wrong += kept[i].touch() ? 0 : 1;
                wrong += kept[i].touch() ? 0 : 1;
            }
            if (round % 10 == 5) {
                // This collects, too.
                ManagementFactory.getPlatformMBeanServer().invoke(
                    new ObjectName("com.sun.management:type=DiagnosticCommand"), "gcClassHistogram",
                    new Object[] {new String[0]}, new String[] {String[].class.getName()});
            } else if (round % 3 == 0) {
                System.gc();
            }
        }
        synchronized (over) {
            over[0] = true;
        }
        churn.join();
        check(wrong + " wrong receivers", wrong == 0);
    }

    private static volatile byte[] garbage;

    private static boolean isOver(boolean[] over) {
        synchronized (over) {
            return over[0];
        }
    }

    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "alone": rounds(10); break;
            case "rounds":
                rounds(300);
                // The constructor of the superclass throws: the other one is not left regularly.
                for (int i = 0; i < 10; i++) {
                    check("negative", fails(() -> new Derived(-1)));
                    DERIVED.calls++;
                }
                for (int i = 0; i < 100; i++) {
                    check("receiver", new Receiver().touch());
                }
                break;
            case "threads":
                Await.join(Await.startAll(4, "calls-", i -> {
                    for (int j = 0; j < 50; j++) {
                        synchronized (Calls.class) {
                            fib(10);
                        }
                        fails(() -> lookup("nothing at all"));
                        Thread.yield();
                    }
                }));
                LOOKUP.calls = 200;
                break;
            case "moved": moved(); break;
            case "rewritten": rewritten(); break;
            case "behind": behind(); break;
            default: throw new IllegalArgumentException(arguments[0]);
        }
        expect();
        System.out.println("done");
    }

    /** Is rewritten while it runs, before it has reported anything. */
    private static void rewritten() {
        REWRITTEN.calls++;
        Agent.call("enable");
        synchronized (REWRITTEN) {
            REWRITTEN.notify();
        }
    }

    /**
     * Another thread calls a method all the time, also while it is being rewritten so that it reports its exits,
     * until it has been called so two million times.
     */
    private static void behind() throws InterruptedException {
        final int enough = 2_000_000;
        boolean[] over = {false};
        Thread caller = new Thread(() -> {
            while (!isOver(over)) {
                for (int i = 0; i < 1_000; i++) {
                    empty();
                    EMPTY.calls++;
                }
            }
        });
        caller.start();
        long behind = 0, before = 0;
        for (int round = 0; behind < enough; round++) {
            // The first rounds make what there is once.
            if (round == 3) {
                before = Agent.call("memory");
                behind = 0;
            }
            int calls = EMPTY.calls;
            Agent.call("enable");
            behind += EMPTY.calls - calls;
            Agent.call("disable");
        }
        long grown = Agent.call("memory") - before;
        synchronized (over) {
            over[0] = true;
        }
        caller.join();
        System.out.println("expect what=memory behind=" + behind + " grown=" + grown);
    }
}

import java.io.IOException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;

/** Native methods of every kind, of its own and of the JDK. It counts their calls. */
final class NativeCalls {
    static native double mixed(
            int a, float b, long c, double d, byte e, float f, short g, double h, char i, float j, boolean k,
            double l, Object m, float n, int o, double p, long q, float r, int s, double t, long u, float v);

    native long integers(long a, long b, long c, long d, long e, long f, long g);

    native boolean sameBoolean(boolean value);

    native byte sameByte(byte value);

    native char sameChar(char value);

    native short sameShort(short value);

    native int sameInt(int value);

    native int sameAgain(int value);

    native long sameLong(long value);

    native float sameFloat(float value);

    native double sameDouble(double value);

    native synchronized Object sameObject(Object value);

    native synchronized Object fails();

    native int through(int depth);

    static native int registered(int n, long m, Object o);

    native void failing();

    private static final int CALLS = 300;

    /** Called by through(). */
    int down(int depth) {
        if (depth == 0) {
            throw new IllegalStateException("at the bottom");
        }
        return through(depth - 1);
    }

    private static void require(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    private static boolean isCounted = true;

    private static void expect(String method, int calls) {
        if (isCounted) {
            System.out.println("expect method=" + method + " calls=" + calls);
        }
    }

    private void arguments() {
        for (int x = 0; x < CALLS; x++) {
            double sum = mixed(x, 1.5f, 1L << 40, -2.25, (byte) -3, 0.5f, (short) -400, 1e9, '\uffff', -8f, true,
                    0.125, NativeCalls.class, 3f, -x, 7.0, Long.MIN_VALUE >> 20, 9f, x, 10.5, -1L, 11f);
            double expected = x + 2 * 1.5 + 3.0 * (1L << 40) + 4 * -2.25 + 5 * -3 + 6 * 0.5 + 7 * -400 + 8 * 1e9
                    + 9 * 0xffff + 10 * -8 + 11 + 12 * 0.125 + 13 + 14 * 3 + 15 * -x + 16 * 7
                    + 17.0 * (Long.MIN_VALUE >> 20) + 18 * 9 + 19 * x + 20 * 10.5 + 21 * -1 + 22 * 11;
            require(Math.abs(sum - expected) <= 1e-9 * Math.abs(expected), "mixed " + sum + " " + expected);
            long integers = integers(x, 2, 3, 4, 5, 6, 1L << 50);
            require(integers == x + 4 + 9 + 16 + 25 + 36 + 7 * (1L << 50), "integers " + integers);
        }
        expect("NativeCalls.mixed", CALLS);
        expect("NativeCalls.integers", CALLS);
    }

    private void results() {
        for (int x = 0; x < CALLS; x++) {
            int n = x - CALLS / 2;
            require(sameBoolean(x % 2 == 0) == (x % 2 == 0), "boolean");
            require(sameByte((byte) n) == (byte) n, "byte");
            require(sameChar((char) n) == (char) n, "char");
            require(sameShort((short) (300 * n)) == (short) (300 * n), "short");
            require(sameInt(n << 20) == n << 20, "int");
            require(sameLong((long) n << 40) == (long) n << 40, "long");
            require(sameFloat(n / 3f) == n / 3f, "float");
            require(sameDouble(n / 3.0) == n / 3.0, "double");
            Object object = x % 3 == 0 ? null : new Object();
            require(sameObject(object) == object, "Object");
        }
        for (String kind : "Boolean Byte Char Short Int Long Float Double Object".split(" ")) {
            expect("NativeCalls.same" + kind, CALLS);
        }
    }

    private void exceptions() {
        List<String> traces = new ArrayList<>();
        for (int x = 0; x < CALLS; x++) {
            try {
                fails();
                require(false, "fails() has returned");
            } catch (IllegalStateException e) {
                traces.add(e.getMessage() + ' ' + e.getStackTrace()[0] + ' ' + e.getStackTrace().length);
            }
            require(!Thread.holdsLock(this), "fails() has kept the monitor");
        }
        require(traces.stream().distinct().count() == 1, "traces " + traces);
        System.out.println(traces.get(0));
        expect("NativeCalls.fails", CALLS);
        int depth = 100;
        try {
            through(depth);
            require(false, "through() has returned");
        } catch (IllegalStateException e) {
            System.out.println(e.getMessage() + ' ' + e.getStackTrace().length);
        }
        expect("NativeCalls.through", depth + 1);
        expect("NativeCalls.down", depth + 1);
    }

    private void bindings() {
        int calls = 0;
        for (int x = 0; isBound && x < CALLS; x++, calls++) {
            require(registered(x, 5, this) == 2 * (x + 5), "registered before");
        }
        for (String how : new String[] {"register", "register anew", "register", "unregister", "register anew"}) {
            Agent.call(how, NativeCalls.class);
            try {
                for (int x = 0; x < CALLS; x++) {
                    int expected = how.endsWith("anew") ? 2 * (x + 5) : x + 5;
                    require(registered(x, 5, this) == expected, how);
                    calls++;
                }
                require(!how.equals("unregister"), "it is bound no more");
            } catch (UnsatisfiedLinkError e) {
                require(how.equals("unregister"), how);
            }
        }
        expect("NativeCalls.registered", calls);
        isBound = true;
    }

    private boolean isBound;

    /** Has all be bound, and waits until its input ends. */
    private void bindUncounted() throws IOException {
        isCounted = false;
        arguments();
        results();
        exceptions();
        bindings();
        isCounted = true;
        System.out.println("ready");
        Await.endOfInput();
    }

    /** Code that looks for its caller finds it, and native methods are unchanged. */
    private static void callers() throws Exception {
        System.out.println(new Throwable().getStackTrace().length);
        // Not in Java 8, for which this is compiled.
        Class<?> walker = Class.forName("java.lang.StackWalker");
        Function<Stream<?>, Long> count = Stream::count;
        System.out.println(walker.getMethod("walk", Function.class)
                .invoke(walker.getMethod("getInstance").invoke(null), count));
        System.out.println(Class.forName("NativeCalls$Named").getSimpleName());
        System.out.println(java.lang.invoke.MethodHandles.lookup().lookupClass());
        int natives = 0;
        for (Method method : NativeCalls.class.getDeclaredMethods()) {
            natives += Modifier.isNative(method.getModifiers()) ? 1 : 0;
        }
        System.out.println(natives + " of " + NativeCalls.class.getDeclaredMethods().length);
        Method same = NativeCalls.class.getDeclaredMethod("sameAgain", int.class);
        System.out.println(same.invoke(new NativeCalls(), 7));
        expect("NativeCalls.sameAgain", 1);
    }

    static final class Named {}

    private static final Object OBJECT = new Object();
    private static final int[] NUMBERS = {1, 2, 3};
    private static Object kept;

    /** The calls that each of the two makes are the same but for those of the native method. */
    private static void jdk(String name, Runnable call) {
        events(call, 1);
        long none = events(() -> { }, CALLS);
        System.out.println("expect native=" + name + " calls=" + CALLS + " events=" + (events(call, CALLS) - none));
    }

    private static long events(Runnable call, int calls) {
        long before = Agent.call("events");
        for (int i = 0; i < calls; i++) {
            call.run();
        }
        return Agent.call("events") - before;
    }

    public static void main(String[] arguments) throws Exception {
        // Loads the library.
        Agent.call("events");
        NativeCalls natives = new NativeCalls();
        if (arguments.length > 0 && arguments[0].equals("attached")) {
            natives.bindUncounted();
        }
        natives.arguments();
        natives.results();
        natives.exceptions();
        natives.bindings();
        callers();
        if (arguments.length > 0) {
            jdk("Object.hashCode", () -> OBJECT.hashCode());
            jdk("System.arraycopy", () -> System.arraycopy(NUMBERS, 0, NUMBERS, 1, 2));
            jdk("System.nanoTime", () -> System.nanoTime());
            jdk("Object.clone", () -> kept = NUMBERS.clone());
            jdk("Object.getClass", () -> OBJECT.getClass());
            jdk("Class.isInstance", () -> NativeCalls.class.isInstance(OBJECT));
            jdk("Thread.holdsLock", () -> Thread.holdsLock(OBJECT));
            synchronized (OBJECT) {
                jdk("Object.notifyAll", () -> OBJECT.notifyAll());
            }
        }
        Agent.call("disable");
        System.out.println(natives.sameInt(5) + mixed(1, 0, 0, 0, (byte) 0, 0, (short) 0, 0, 'x', 0, true, 0, null, 0, 0, 0, 0, 0, 0, 0, 0, 0));
        System.out.println("done");
    }
}

import java.io.IOException;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.function.IntSupplier;

/**
 * Allocates known numbers of objects in every way there is, on four threads, and prints the number reported to
 * the agent. Each kind is made a few times by code that never ran before, then many times.
 */
final class Objects {
    private static final int THREADS = 4, COLD = 25, HOT = 2_000, MANY = 50_000;
    /** Written in every round, so that no object is one that the compiler can do without. */
    private static final Object[][] KEPT = new Object[THREADS][64];

    interface Maker {
        Object make(int i) throws Exception;
    }

    interface Loop {
        void run(Object[] into, int count) throws Exception;
    }

    /** The kind of object that the agent counts, the number made in one round, and the bytes that each holds. */
    private static final class Expected {
        final String what;
        final Class<?> type;
        final int each;
        /** 0 if that differs between JDKs. */
        final int payload;

        Expected(String what, Class<?> type, int each, int payload) {
            this.what = what;
            this.type = type;
            this.each = each;
            this.payload = payload;
        }
    }

    /** The bytes of a reference. */
    private static final int REFERENCE = Integer.getInteger("reference.bytes");

    private static Expected objects(Class<?> type) {
        return new Expected("objects", type, 1, 4);
    }

    private static Expected arrays(Class<?> type, int each, int length) {
        return new Expected("arrays", type, each, REFERENCE * length);
    }

    private static Expected elements(Primitive type, int each, int length) {
        return new Expected("elements " + type.number + " " + length, null, each, length * type.width);
    }

    /** The primitive types, with the numbers that the interface gives them. */
    private enum Primitive {
        BYTE(8, 1, byte.class, i -> new byte[331], a -> ((byte[]) a).clone()),
        INT(10, 4, int.class, i -> new int[331], a -> ((int[]) a).clone()),
        LONG(11, 8, long.class, i -> new long[331], a -> ((long[]) a).clone());

        interface Copy {
            Object of(Object array);
        }

        final int number, width;
        final Class<?> type;
        final Maker maker;
        final Copy copy;

        Primitive(int number, int width, Class<?> type, Maker maker, Copy copy) {
            this.number = number;
            this.width = width;
            this.type = type;
            this.maker = maker;
            this.copy = copy;
        }
    }

    /** Objects of all these have the same shape. */
    private static class New {
        int number;
    }

    private static final class Many {
        final int number;

        Many(int number) {
            this.number = number;
        }
    }

    private static final class Cloned implements Cloneable {
        int number;

        @Override
        public Cloned clone() throws CloneNotSupportedException {
            return (Cloned) super.clone();
        }
    }

    private static final class Constructed extends New {
        public Constructed(int number) {
            this.number = number;
        }
    }

    private static final class Inner extends New {}

    private static final class Bare extends New {}

    private static final class ByJni extends New {}

    private static final class BareByJni extends New {}

    private static final class Element {}

    private static final class ClonedElement {}

    private static final class CopiedElement {}

    private static final class ReflectedElement {}

    private static final class JniElement {}

    private static final class P {}

    private static final class ReflectedP {}

    public static void main(String[] arguments) throws Exception {
        for (String way : arguments) {
            switch (way) {
                case "objects": plainObjects(); break;
                case "arrays": plainArrays(); break;
                case "jni": byJni(); break;
                case "exceptions": byVm(); break;
                case "strings": strings(); break;
                case "late": onOlderThreads(false); break;
                case "attached": onOlderThreads(true); break;
                default: throw new IllegalArgumentException(way);
            }
        }
    }

    private static void plainObjects() throws Exception {
        test("new", i -> new New(), objects(New.class));
        test("many", Objects::makeMany, MANY, objects(Many.class));
        test("boxed int", i -> Integer.valueOf(1_000 + i), objects(Integer.class));
        test("boxed long", i -> Long.valueOf(1_000 + i), new Expected("objects", Long.class, 1, 8));
        test("boxed double", i -> Double.valueOf(i), new Expected("objects", Double.class, 1, 8));
        Cloned prototype = new Cloned();
        test("clone", i -> prototype.clone(), objects(Cloned.class));
        Constructor<?> constructor = Constructed.class.getConstructor(int.class);
        test("Constructor.newInstance", i -> constructor.newInstance(i), objects(Constructed.class));
        Constructor<?> inner = Inner.class.getDeclaredConstructor();
        inner.setAccessible(true);
        test("private constructor", i -> inner.newInstance(), objects(Inner.class));
        Class<?> lambda = lambda(0).getClass();
        test("capturing lambda", Objects::lambda, objects(lambda));
        Class<?> unsafe = Class.forName("sun.misc.Unsafe");
        Field field = unsafe.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        Object instance = field.get(null);
        Method allocate = unsafe.getMethod("allocateInstance", Class.class);
        test("Unsafe.allocateInstance", i -> allocate.invoke(instance, Bare.class), objects(Bare.class));
    }

    private static Object lambda(int i) {
        IntSupplier supplier = () -> i;
        return supplier;
    }

    private static void makeMany(Object[] into, int count) {
        for (int i = 0; i < count; i++) {
            into[i & 63] = new Many(i);
        }
    }

    private static void plainArrays() throws Exception {
        for (Primitive p : Primitive.values()) {
            Object original = Array.newInstance(p.type, 337);
            test("new " + p.type + "[]", p.maker, elements(p, 1, 331));
            test("clone of " + p.type + "[]", i -> p.copy.of(original), elements(p, 1, 337));
            test("Array.newInstance " + p.type, i -> Array.newInstance(p.type, 341), elements(p, 1, 341));
        }
        int[] numbers = new int[347];
        test("Arrays.copyOf int[]", i -> Arrays.copyOf(numbers, 349), elements(Primitive.INT, 1, 349));
        test("int[][]", i -> new int[3][353], arrays(int[].class, 1, 3), elements(Primitive.INT, 3, 353));
        test("references", i -> new Element[7], arrays(Element.class, 1, 7));
        ClonedElement[] original = new ClonedElement[5];
        test("clone of references", i -> original.clone(), arrays(ClonedElement.class, 1, 5));
        CopiedElement[] shorter = new CopiedElement[5];
        test("Arrays.copyOf references", i -> Arrays.copyOf(shorter, 9), arrays(CopiedElement.class, 1, 9));
        test("Array.newInstance references", i -> Array.newInstance(ReflectedElement.class, 9),
                arrays(ReflectedElement.class, 1, 9));
        test("P[2][3][4]", i -> new P[2][3][4],
                arrays(P[][].class, 1, 2), arrays(P[].class, 2, 3), arrays(P.class, 6, 4));
        test("Array.newInstance in two dimensions", i -> Array.newInstance(ReflectedP.class, 2, 3),
                arrays(ReflectedP[].class, 1, 2), arrays(ReflectedP.class, 2, 3));
        test("large array", i -> new long[100_003], 10, elements(Primitive.LONG, 1, 100_003));
    }

    /** Makes an object, see {@code agents/allocator.c}. */
    private static native Object make(String function, Class<?> type, int length);

    private static void byJni(String function, Class<?> type, int length, Expected expected) throws Exception {
        test(function, i -> make(function, type, length), expected);
    }

    private static void byJni() throws Exception {
        System.load(System.getProperty("allocator.path"));
        byJni("NewObject", ByJni.class, 0, objects(ByJni.class));
        byJni("AllocObject", BareByJni.class, 0, objects(BareByJni.class));
        byJni("NewObjectArray", JniElement.class, 11, arrays(JniElement.class, 1, 11));
        // Their letters are kept in arrays of bytes.
        byJni("NewStringUTF", null, 601, elements(Primitive.BYTE, 1, 601));
        byJni("NewString", null, 617, elements(Primitive.BYTE, 1, 617));
        for (Primitive p : Primitive.values()) {
            byJni("New array of " + p.type, null, 359, elements(p, 1, 359));
        }
    }

    /** Exceptions that the JVM itself creates. */
    private static void byVm() throws Exception {
        Object[] strings = new String[1];
        Object text = "text";
        thrown(NullPointerException.class, i -> ((Object[]) null)[i]);
        thrown(ArithmeticException.class, i -> i / (i - i));
        thrown(ArrayIndexOutOfBoundsException.class, i -> strings[i + 1]);
        thrown(ClassCastException.class, i -> (Integer) text);
        thrown(NegativeArraySizeException.class, i -> new int[-1 - i]);
        thrown(ArrayStoreException.class, i -> strings[0] = strings);
    }

    private static void thrown(Class<? extends RuntimeException> type, Maker maker) throws Exception {
        test(type.getSimpleName(), i -> {
            try {
                return maker.make(i);
            } catch (RuntimeException e) {
                if (e.getClass() != type) {
                    throw e;
                }
                return e;
            }
        }, new Expected("objects", type, 1, 0));
    }

    /** Other code makes strings too: what counts is how many more there are for more rounds. */
    private static void strings() throws Exception {
        char[] letters = new char[500];
        Arrays.fill(letters, 'a');
        String prefix = new String(letters);
        String middle = prefix.substring(0, 33);
        Maker concatenation = i -> prefix + middle + (1_000 + i);
        test("concatenation", concatenation, elements(Primitive.BYTE, 1, 537));
        long fewer = strings(concatenation, HOT);
        long more = strings(concatenation, 2 * HOT);
        System.out.println("expect kind=strings counted=" + HOT * THREADS + " reported=" + (more - fewer)
                + " sizes=1 size=16 payload=4");
    }

    /** The least of some tries: the compilers make strings on threads that call what they compile. */
    private static long strings(Maker maker, int count) throws Exception {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 3; i++) {
            Agent.call("clear");
            onThreads(loop(maker), count);
            least = Math.min(least, Agent.call("count objects", String.class));
        }
        return least;
    }

    /** Threads that allocated before the agent wanted to know, or before it was there. */
    private static void onOlderThreads(boolean attached) throws Exception {
        CountDownLatch enabled = new CountDownLatch(1), ready = new CountDownLatch(THREADS);
        Thread enabler = new Thread(() -> {
            try {
                ready.await();
                if (attached) {
                    Wait.main(null);
                }
            } catch (InterruptedException | IOException e) {
                throw new IllegalStateException(e);
            }
            Agent.call("allocations");
            Agent.call("clear");
            enabled.countDown();
        });
        enabler.start();
        onThreads((into, count) -> {
            into[0] = new byte[100];
            ready.countDown();
            enabled.await();
            loop(i -> new New()).run(into, count);
            loop(i -> new long[331]).run(into, count);
        }, COLD);
        print("older threads", COLD * THREADS, objects(New.class));
        print("arrays of older threads", COLD * THREADS, elements(Primitive.LONG, 1, 331));
    }

    private static void test(String kind, Maker maker, Expected... expected) throws Exception {
        test(kind, maker, HOT, expected);
    }

    private static void test(String kind, Maker maker, int hot, Expected... expected) throws Exception {
        test(kind, loop(maker), hot, expected);
    }

    private static Loop loop(Maker maker) {
        return (into, count) -> {
            for (int i = 0; i < count; i++) {
                into[i % into.length] = maker.make(i);
            }
        };
    }

    private static void test(String kind, Loop loop, int hot, Expected... expected) throws Exception {
        for (int count : new int[] {Math.min(COLD, hot), hot}) {
            Agent.call("clear");
            onThreads(loop, count);
            for (Expected e : expected) {
                print(kind, count * THREADS * e.each, e);
            }
        }
    }

    private static void print(String kind, int counted, Expected e) {
        System.out.println("expect kind=\"" + kind + "\" counted=" + counted
                + " reported=" + Agent.call("count " + e.what, e.type)
                + " sizes=" + Agent.call("sizes " + e.what, e.type)
                + " size=" + Agent.call("size " + e.what, e.type) + " payload=" + e.payload);
    }

    private static void onThreads(Loop loop, int count) throws Exception {
        Throwable[] failure = new Throwable[1];
        Await.join(Await.startAll(THREADS, "makes-", t -> {
            try {
                loop.run(KEPT[t], count);
            } catch (Throwable e) {
                failure[0] = e;
            }
        }));
        if (failure[0] != null) {
            throw new InvocationTargetException(failure[0]);
        }
    }
}

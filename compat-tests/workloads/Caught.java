import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.lang.reflect.InvocationTargetException;
import java.math.BigDecimal;

/**
 * Catches exceptions of constructors before they are constructors of an object, and errors of a full stack. A handler
 * has as many methods entered as there were before the exception.
 */
final class Caught {
    /** The depth that is not checked, because the stack may be nearly full. */
    private static final int UNKNOWN = -1;

    /** The least deep calls of a recursion, which have room to ask. */
    private static final int SHALLOW = 50;

    private static int checks, overflows;
    private static boolean failed;
    /** The number of times that the stack is to be full. */
    private static int overflowing;

    static class Refusing {
        Refusing(int value) {
            if (value < 0) {
                throw new IllegalArgumentException("negative");
            }
        }

        Refusing() {
            this(-1);
        }
    }

    static class BySuper extends Refusing {
        BySuper() {
            super(-1);
        }

        BySuper(int value) {
            super(value);
        }
    }

    /** Left by four constructors at once. */
    static final class ByThis extends BySuper {
        ByThis() {
            this(-2);
        }

        ByThis(int value) {
            super(value);
        }
    }

    /** Its constructor catches exceptions of others of its own kind; none of them is as deep as it is. */
    static final class Nested extends Refusing {
        Nested(int depth, int leaving) {
            super(depth - leaving);
            long before = depth();
            if (depth > 0) {
                try {
                    new Nested(depth - 1, leaving);
                    new Nested(depth - 2, leaving + depth % 2);
                } catch (IllegalArgumentException e) {
                    check("Nested", before);
                }
            }
            check("Nested", before);
        }
    }

    static final class Failed {
        static final Object VALUE = new ByThis();
    }

    static long depth() {
        return Agent.call("depth");
    }

    static void check(String what, long expected) {
        // Without this one.
        long depth = depth() - 1;
        if (depth != expected) {
            throw new AssertionError(what + ": " + depth + " methods are entered, not " + expected);
        }
        checks++;
    }

    private static void ofTheJdk() {
        long before = depth();
        try {
            new FileInputStream("missing");
        } catch (FileNotFoundException e) {
            check("FileInputStream", before);
        }
        try {
            new BigDecimal("x");
        } catch (NumberFormatException e) {
            check("BigDecimal", before);
        }
    }

    private static void ofItsOwn() {
        long before = depth();
        try {
            new BySuper();
        } catch (IllegalArgumentException e) {
            check("super()", before);
        }
        try {
            new Refusing();
        } catch (IllegalStateException | IllegalArgumentException e) {
            check("this()", before);
        }
        try {
            synchronized (Caught.class) {
                new ByThis();
            }
        } catch (RuntimeException e) {
            check("both", before);
        }
        check("behind both", before);
    }

    private static void lastly() {
        long before = depth();
        try {
            try {
                new ByThis();
            } finally {
                check("finally", before);
            }
        } catch (IllegalArgumentException e) {
            check("behind finally", before);
        }
    }

    /** Each is left, or catches, or does so for others. */
    private static void recursive(int depth) {
        long before = depth();
        try {
            if (depth == 0) {
                new ByThis();
            }
            recursive(depth - 1);
            if (depth % 2 == 0) {
                new BySuper(-depth);
            }
        } catch (IllegalArgumentException e) {
            check("recursive", before);
            if (depth % 3 == 0) {
                throw e;
            }
        }
        check("behind recursive", before);
    }

    private static void byOthers() throws Exception {
        long before = depth();
        try {
            ByThis.class.getDeclaredConstructor().newInstance();
        } catch (InvocationTargetException e) {
            check("reflection", before);
        }
        try {
            Failed.VALUE.hashCode();
        } catch (ExceptionInInitializerError | NoClassDefFoundError e) {
            check("an initializer", before);
        }
    }

    /** A catching method may itself have been left. */
    private static void overflow(int depth) {
        long before = depth < SHALLOW ? depth() : UNKNOWN;
        try {
            overflow(depth + 1);
        } catch (StackOverflowError e) {
            overflows++;
        }
        if (before != UNKNOWN) {
            check("overflow", before);
        }
    }

    /** Each passes the error on. */
    private static void overflowLastly(int depth) {
        long before = depth < SHALLOW ? depth() : UNKNOWN;
        try {
            overflowLastly(depth + 1);
        } finally {
            if (before != UNKNOWN) {
                check("overflowLastly", before);
            }
        }
    }

    /** None but the outermost catches. */
    private static void overflowThrough(int depth) {
        overflowThrough(depth + 1);
        overflows++;
    }

    /** Its constructor makes another one, and so on. */
    static final class Chain {
        Chain() {
            overflows += new Chain().hashCode() & 0;
        }
    }

    /** So that the stack is full at another place. */
    private static long further(int words, long a, long b, Object c) {
        long before = depth();
        if (words == 0) {
            overflow(0);
        } else {
            a += further(words - 1, a, b, c);
        }
        check("overflow", before);
        return a;
    }

    private static void overflows(int round) {
        long before = depth();
        further(round, round, 0, null);
        try {
            overflowLastly(0);
        } catch (StackOverflowError e) {
            check("overflowLastly", before);
        }
        try {
            overflowThrough(0);
        } catch (StackOverflowError e) {
            check("overflowThrough", before);
        }
        try {
            new Chain();
        } catch (StackOverflowError e) {
            check("constructors", before);
        }
    }

    private static void all() {
        try {
            long before = depth();
            for (int round = 0; round < 20; round++) {
                ofTheJdk();
                ofItsOwn();
                lastly();
                new Nested(9, 5);
                recursive(7);
                byOthers();
            }
            for (int round = 0; round < overflowing; round++) {
                overflows(round);
            }
            check("all", before);
        } catch (Throwable e) {
            e.printStackTrace();
            failed = true;
        }
    }

    private static Thread thread(String kind) throws Exception {
        if (kind.equals("virtual")) {
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class)
                .invoke(null, (Runnable) Caught::all);
        }
        Thread thread = new Thread(null, Caught::all, "catching", 1 << 19);
        thread.start();
        return thread;
    }

    public static void main(String[] arguments) throws Exception {
        overflowing = Integer.parseInt(arguments[1]);
        thread(arguments[0]).join();
        System.out.println("expect checks=" + checks + " failed=" + failed);
    }
}

import java.io.IOException;
import java.io.InputStream;

/** A class of which everything is known, classes that the agent changes, and classes that go. */
public final class Classes {
    private static final int COUNT = 5;

    interface First {}

    interface Second extends Runnable {}

    static class Super {
        static int inherited = 1;
        int alsoInherited = 2;
    }

    abstract static class Target extends Super implements First, Second {
        static final int LIMIT = "the class under test".length();
        static String text = "text";
        static long number = Conform.call("initializing");
        boolean flag;
        int[][] array;
        Super other;
        double last;

        int one() { return 1; }

        Object several(int i, String[] strings, long l) {
            if (strings == null) {
                return this;
            } else { return strings; }
        }

        abstract void nothing();

        native void nativeOne(double[][] matrix);

        public void run() {}
    }

    static final class Same {
        static String text() {
            return "ORIGINAL";
        }
    }

    static final class Replaced {
        static String text() {
            return "ORIGINAL";
        }
    }

    static final class Changed {
        static String text() {
            return "ORIGINAL";
        }
    }

    static final class Untouched {
        static String text() {
            return "ORIGINAL";
        }
    }

    static final class Nulled {
        static String text() {
            return "ORIGINAL";
        }
    }

    /** Loaded by loaders of their own, which are dropped. */
    public static final class Gone {}

    private static final class Loader extends ClassLoader {
        Object make(byte[] file) throws Exception {
            return defineClass(null, file, 0, file.length).newInstance();
        }
    }

    private static byte[] read(String name) throws IOException {
        InputStream in = Classes.class.getResourceAsStream(name + ".class");
        byte[] buffer = new byte[65536];
        int length = 0;
        for (int n = in.read(buffer); n > 0; n = in.read(buffer, length, buffer.length - length)) {
            length += n;
        }
        in.close();
        byte[] file = new byte[length];
        System.arraycopy(buffer, 0, file, 0, length);
        return file;
    }

    private static void loadGone() throws Exception {
        byte[] file = read("Classes$Gone");
        for (int i = 0; i < COUNT; i++) {
            Conform.call("instance", new Loader().make(file));
        }
    }

    public static void main(String[] arguments) throws Exception {
        if (Target.number == 0) {
            Conform.call("target", Target.class);
        }
        Conform.call("length", read("Classes$Target").length);
        Conform.call("array", String[][].class);
        Conform.call("same", Same.text());
        Conform.call("replaced", Replaced.text());
        Conform.call("changed", Changed.text());
        Conform.call("untouched", Untouched.text());
        Conform.call("nulled", Nulled.text());
        loadGone();
        Conform.call("gone", COUNT);
    }
}

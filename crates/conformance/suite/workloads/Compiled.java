import java.io.IOException;
import java.io.InputStream;

/** Runs a method until it is compiled, and drops compiled code with its class. */
public final class Compiled {
    private static long sum;

    private static long hot(int n) {
        long result = n;
        for (int i = 0; i < 100; i++) {
            result += small(i)
                    + result % 7;
            if (result % 1000 == 999) {
                sum++;
            }
        }
        return result;
    }

    /** Is inlined. */
    private static int small(int i) {
        return i % 3 == 0
                ? i / 2
                : i + 1;
    }

    public static final class Dropped implements Runnable {
        private static int runs;

        private static void step(int i) {
            runs += i;
        }

        public void run() {
            for (int i = 0; i < 20000; i++) {
                step(i);
            }
        }
    }

    private static final class Loader extends ClassLoader {
        Runnable make(byte[] file) throws Exception {
            return (Runnable) defineClass(null, file, 0, file.length).newInstance();
        }
    }

    private static byte[] read() throws IOException {
        InputStream in = Compiled.class.getResourceAsStream("Compiled$Dropped.class");
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

    public static void main(String[] arguments) throws Exception {
        while (Conform.call("hot") == 0) {
            for (int i = 0; i < 1000; i++) {
                sum += hot(i);
            }
        }
        Conform.call("code");
        byte[] file = read();
        int before = Conform.call("discarded");
        int rounds = 0;
        do {
            for (int i = 0; i < 5; i++) {
                new Loader().make(file).run();
            }
            // Not every collector unloads classes.
        } while (Conform.call("unloads", before) == 0 && ++rounds < 200);
        Conform.call("unloaded");
    }
}

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;

/** Runs branches of every kind, each of them both ways. */
final class Instructions {
    static int numbers(int a, int b) {
        int n = 0;
        if (a == 0) n += 1;
        if (a != 0) n += 2;
        if (a < 0) n += 4;
        if (a >= 0) n += 8;
        if (a > 0) n += 16;
        if (a <= 0) n += 32;
        if (a == b) n += 64;
        if (a != b) n += 128;
        if (a < b) n += 256;
        if (a >= b) n += 512;
        if (a > b) n += 1024;
        if (a <= b) n += 2048;
        return n;
    }

    static int references(Object a, Object b) {
        int n = 0;
        if (a == null) n += 1;
        if (a != null) n += 2;
        if (a == b) n += 4;
        if (a != b) n += 8;
        return n;
    }

    static int compare(long a, double b, float c) {
        return (a > 5 ? 1 : 0) + (b < 2.5 ? 2 : 0) + (c != 1f ? 4 : 0) + (a == Long.MIN_VALUE ? 8 : 0);
    }

    static int table(int i) {
        switch (i) {
            case -2: return 1;
            case -1: return 2;
            case 1: return 4;
            case 2: return 5;
            default: return 6;
        }
    }

    static int lookup(int i) {
        switch (i) {
            case Integer.MIN_VALUE: return 1;
            case -7: return 2;
            case 0: return 3;
            case 1000: return 4;
            case Integer.MAX_VALUE: return 5;
            default: return 6;
        }
    }

    static int onlyDefault(int i) {
        switch (i) {
            default: return i;
        }
    }

    static int toZero(int i) {
        do {
            i--;
        } while (i > 0);
        return i;
    }

    static int exceptions(int[] array, int i) {
        try {
            array[i] = i;
            if (i == 1) {
                throw new IllegalStateException();
            }
            return array[i];
        } catch (ArrayIndexOutOfBoundsException e) {
            return -1;
        } catch (IllegalStateException e) {
            return -2;
        } finally {
            array[0]++;
        }
    }

    static class Base {
        final int value;

        Base(int value) {
            this.value = value;
        }
    }

    static final class Derived extends Base {
        Derived(Object o, int i) {
            super(o == null ? i > 3 ? 1 : 2 : 3);
        }
    }

    static synchronized long locked(Object lock, int n) {
        long sum = 0;
        synchronized (lock) {
            for (int i = 0; i < n; i++) {
                sum += i;
            }
        }
        return sum;
    }

    static void run() {
        int n = 0;
        for (int a = -1; a <= 1; a++) {
            for (int b = -1; b <= 1; b++) {
                n = 31 * n + numbers(a, b);
            }
        }
        Object o = new Object();
        n = 31 * n + references(o, o) + references(null, o) + references(null, null) + references(o, "");
        n = 31 * n + compare(7, 1, 1f) + compare(Long.MIN_VALUE, Double.NaN, Float.NaN);
        for (int i = -4; i < 5; i++) {
            n = 31 * n + table(i) + onlyDefault(i);
        }
        for (int i : new int[] {Integer.MIN_VALUE, -7, 0, 1000, Integer.MAX_VALUE, 5, -8}) {
            n = 31 * n + lookup(i);
        }
        n = 31 * n + toZero(10);
        for (int i = 0; i < 4; i++) {
            n = 31 * n + exceptions(new int[3], i);
        }
        n = 31 * n + new Derived(null, 3).value + new Derived(null, 4).value + new Derived(o, 4).value;
        n = 31 * n + (int) locked(o, 10);
        System.out.println("expect result=" + n);
    }

    /** Subroutines, as compilers have not made them for long, and wide instructions. */
    static byte[] subroutine() throws IOException {
        FreshClass file = new FreshClass("MadeOld", 48);
        file.method("call", "(I)I", 2, 300, FreshClass.bytes(
                0x03, 0x3c,                         // 0: iconst_0, istore_1
                0x1a, 0x9e, 0, 12,                  // 2: iload_0, ifle 15
                0xa8, 0, 11,                        // 6: jsr 17
                0x84, 0, 0xff,                      // 9: iinc 0 -1
                0xa7, 0xff, 0xf6,                   // 12: goto 2
                0x1b, 0xac,                         // 15: iload_1, ireturn
                0xc4, 0x3a, 1, 0x10,                // 17: wide astore 272
                0x1b, 0x1a, 0x60, 0x3c,             // 21: iload_1, iload_0, iadd, istore_1
                0xc4, 0x84, 0, 1, 0, 1,             // 25: wide iinc 1 1
                0xc4, 0xa9, 1, 0x10));              // 31: wide ret 272
        return file.file();
    }

    /** Comparisons of an object before its constructor has run. */
    static byte[] uninitialized() throws IOException {
        FreshClass file = new FreshClass("MadeNew", 52);
        int constructor = file.constant(10, file.object, file.constant(12, file.text("<init>"), file.text("()V")));
        file.method("call", "(I)I", 4, 1, FreshClass.bytes(
                0xbb, 0, file.object,               // 0: new Object
                0x59, 0xc6, 0, 18,                  // 3: dup, ifnull 22
                0x59, 0x59, 0xa5, 0, 4,             // 7: dup, dup, if_acmpeq 13
                0x00,                               // 12: nop
                0x59, 0x1a, 0x57,                   // 13: dup, iload_0, pop
                0xb7, 0, constructor,               // 16: invokespecial
                0x57, 0x04, 0xac,                   // 19: pop, iconst_1, ireturn
                0x57, 0x03, 0xac),                  // 22: pop, iconst_0, ireturn
                0, 2, 64 + 13, 8, 0, 0, 64 + 8, 8, 0, 0); // the new object on the stack
        return file.file();
    }

    private static Class<?> define(String name, byte[] file) throws IOException {
        Files.write(Paths.get(name + ".class"), file);
        return new ClassFile.Loader().define(file);
    }

    public static void main(String[] arguments) throws Exception {
        run();
        for (Class<?> made : new Class<?>[] {
                define("MadeOld", subroutine()), define("MadeNew", uninitialized())}) {
            try {
                Object value = made.getMethod("call", int.class).invoke(null, 3);
                System.out.println("expect made=" + made.getName() + " value=" + value);
            } catch (VerifyError e) {
                // From JDK 27 on an object without a constructor call cannot be compared.
            }
        }
    }
}

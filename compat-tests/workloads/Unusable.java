import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;

/** Classes that can never be used, and others that were loaded around them. */
final class Unusable {
    static final int CLASSES = 64;

    /** `static int f()`, which returns 5, behind an initializer. */
    static byte[] file(String name, byte[] initializer, byte[] code) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xcafebabe);
        out.writeShort(0);
        out.writeShort(49);
        out.writeShort(10);
        for (String text :
                new String[] {name, "java/lang/Object", "Code", "f", "()I", "<clinit>", "()V"}) {
            out.writeByte(1);
            out.writeUTF(text);
        }
        out.write(new byte[] {7, 0, 1, 7, 0, 2});
        for (int value : new int[] {0x0021, 8, 9, 0, 0, 2}) {
            out.writeShort(value);
        }
        method(out, 4, 5, code);
        method(out, 6, 7, initializer);
        out.writeShort(0);
        return bytes.toByteArray();
    }

    private static void method(DataOutputStream out, int name, int type, byte[] code)
            throws IOException {
        for (int value : new int[] {0x0009, name, type, 1, 3}) {
            out.writeShort(value);
        }
        out.writeInt(12 + code.length);
        out.writeShort(1);
        out.writeShort(0);
        out.writeInt(code.length);
        out.write(code);
        out.writeInt(0);
    }

    static final byte[] RETURN_5 = {0x08, (byte) 0xac};
    /** Does not pass verification: there is nothing to be returned. */
    static final byte[] RETURN_NOTHING = {(byte) 0xac};
    static final byte[] RETURN = {(byte) 0xb1};
    static final byte[] THROW = {0x01, (byte) 0xbf};

    static final class Loader extends ClassLoader {
        Class<?> define(String name, byte[] initializer, byte[] code) throws IOException {
            byte[] file = file(name, initializer, code);
            return defineClass(name, file, 0, file.length);
        }
    }

    /** Returns true if the class cannot be initialized. */
    static boolean fails(Class<?> type) throws Exception {
        try {
            Class.forName(type.getName(), true, type.getClassLoader());
            return false;
        } catch (LinkageError e) {
            return true;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Loader loader = new Loader();
        Class<?>[] classes = new Class<?>[CLASSES];
        boolean allFail = true;
        for (int i = 0; i < CLASSES; i++) {
            classes[i] = loader.define("Usable" + i, RETURN, RETURN_5);
            // Half of them are not linked when they are rewritten.
            if (i % 2 == 0) {
                classes[i].getMethod("f").invoke(null);
            }
            if (i % 8 == 3) {
                allFail &= fails(loader.define("Failed" + i, THROW, RETURN_5));
            }
            if (i % 8 == 5) {
                loader.define("NotYetFailed" + i, RETURN, RETURN_NOTHING);
            }
            if (i % 8 == 7) {
                allFail &= fails(loader.define("Unverified" + i, RETURN, RETURN_NOTHING));
            }
        }
        if (!allFail) {
            throw new AssertionError("a class can be used that should not be");
        }
        Agent.call("enable");
        for (Class<?> type : classes) {
            type.getMethod("f").invoke(null);
            System.out.println("expect method=" + type.getName() + ".f calls=1");
        }
        Agent.call("disable");
        System.out.println("done");
    }
}

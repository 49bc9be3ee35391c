import java.io.IOException;

/** Classes that can never be used, and others that were loaded around them. */
final class Unusable {
    private static final int CLASSES = 64;
    private static final ClassFile.Loader LOADER = new ClassFile.Loader();

    static final byte[] RETURN_5 = {0x08, (byte) 0xac};
    /** Does not pass verification: there is nothing to be returned. */
    static final byte[] RETURN_NOTHING = {(byte) 0xac};
    static final byte[] RETURN = {(byte) 0xb1};
    static final byte[] THROW = {0x01, (byte) 0xbf};

    /** A class with a method f behind an initializer. */
    private static Class<?> define(String name, byte[] initializer, byte[] code) throws IOException {
        FreshClass file = new FreshClass(name, 49);
        file.method("f", "()I", 1, 0, code);
        file.method("<clinit>", "()V", 1, 0, initializer);
        return LOADER.define(file.file());
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
        Class<?>[] classes = new Class<?>[CLASSES];
        boolean allFail = true;
        for (int i = 0; i < CLASSES; i++) {
            classes[i] = define("Usable" + i, RETURN, RETURN_5);
            // Half of them are not linked when they are rewritten.
            if (i % 2 == 0) {
                classes[i].getMethod("f").invoke(null);
            }
            if (i % 8 == 3) {
                allFail &= fails(define("Failed" + i, THROW, RETURN_5));
            }
            if (i % 8 == 5) {
                define("NotYetFailed" + i, RETURN, RETURN_NOTHING);
            }
            if (i % 8 == 7) {
                allFail &= fails(define("Unverified" + i, RETURN, RETURN_NOTHING));
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

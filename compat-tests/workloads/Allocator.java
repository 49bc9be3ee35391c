/** Allocates objects by JNI and stores them in an array, see {@code agents/allocator.c}. */
final class Allocator {
    static {
        System.load(System.getProperty("allocator.path"));
    }

    private Allocator() {}

    static native void newObject(Object[] into, int count, Class<?> type);

    static native void allocObject(Object[] into, int count, Class<?> type);

    static native void newObjectArray(Object[] into, int count, Class<?> type, int length);

    static native void newStringUTF(Object[] into, int count, int length);

    static native void newString(Object[] into, int count, int length);

    static native void newArray(Object[] into, int count, int type, int length);
}

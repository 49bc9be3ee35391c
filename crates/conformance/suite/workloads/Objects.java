/** Allocates in all ways. */
public final class Objects implements Cloneable {
    private static final int COUNT = 1000;

    private int field;

    private static Object[] kept = new Object[COUNT];

    public Objects() {
        field = 1;
    }

    static Object copy(Objects original) throws CloneNotSupportedException {
        return original.clone();
    }

    public static void main(String[] arguments) throws Exception {
        Conform.call("begin", Objects.class);
        for (int i = 0; i < COUNT; i++) {
            kept[i] = new Objects();
        }
        Conform.call("end", COUNT);
        Conform.call("one", new StringBuffer());
        Conform.call("references", new Objects[7]);
        Conform.call("arrays of arrays", new int[3][5]);
        Conform.call("boolean", COUNT, new boolean[COUNT]);
        Conform.call("byte", COUNT, new byte[COUNT]);
        Conform.call("char", COUNT, new char[COUNT]);
        Conform.call("short", COUNT, new short[COUNT]);
        Conform.call("int", COUNT, new int[COUNT]);
        Conform.call("long", COUNT, new long[COUNT]);
        Conform.call("float", COUNT, new float[COUNT]);
        Conform.call("double", COUNT, new double[COUNT]);
        Conform.call("clone", copy(new Objects()));
        Conform.call("reflection", Objects.class.newInstance());
        Conform.call("jni", Objects.class);
        Object object = new StringBuffer("kept");
        Conform.call("ids", object);
        Conform.call("collections", object);
    }
}

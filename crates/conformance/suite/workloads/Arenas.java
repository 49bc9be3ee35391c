/** Keeps objects over a collection, then drops them. */
public final class Arenas {
    private static final int COUNT = 50;

    public static void main(String[] arguments) {
        Object[] objects = new Object[COUNT];
        for (int i = 0; i < COUNT; i++) {
            objects[i] = new StringBuffer();
        }
        Conform.call("remember", COUNT, objects);
        Conform.call("collect", COUNT, objects);
        for (int i = 0; i < COUNT; i++) {
            objects[i] = null;
        }
        Conform.call("dropped", COUNT, objects);
    }
}

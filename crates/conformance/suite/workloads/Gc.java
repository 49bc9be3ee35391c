/** Makes objects that the agent knows, and drops them. */
public final class Gc {
    private static final int COUNT = 200;

    private static Object[] make() {
        Object[] objects = new Object[COUNT];
        for (int i = 0; i < COUNT; i++) {
            objects[i] = new StringBuffer();
        }
        Conform.call("remember", COUNT, objects);
        return objects;
    }

    private static void drop(Object[] objects, int count) {
        for (int i = 0; i < count; i++) {
            objects[i] = null;
        }
    }

    public static void main(String[] arguments) {
        Conform.call("run");
        Object[] objects = make();
        drop(objects, COUNT / 2);
        Conform.call("half");
        drop(objects, COUNT);
        objects = make();
        drop(objects, COUNT);
        Conform.call("disabled");
        Conform.call("lock");
        int before = Conform.call("collections");
        System.gc();
        for (int i = 0; i < 1000 && Conform.call("collections") == before; i++) {
            System.gc();
            Conform.pause();
        }
        Conform.call("java", before);
        if (objects.length != COUNT) {
            throw new IllegalStateException();
        }
    }
}

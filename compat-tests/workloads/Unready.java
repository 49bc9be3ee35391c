import java.lang.reflect.Array;

/**
 * The Class object of a class that cannot be linked yet is used in all ways in which events name it. It is
 * loaded as the superclass of one that its own verification needs.
 */
final class Unready {
    static class Made {}

    static class Parent extends Made {
        static Made make() {
            return new Child();
        }
    }

    static final class Child extends Parent {}

    private static final class Loader extends ClassFile.Loader {
        Loader() {
            super("Unready$Made", "Unready$Parent", "Unready$Child");
        }

        @Override
        Class<?> loadOwn(String name) throws ClassNotFoundException {
            Class<?> type = super.loadOwn(name);
            if (type.getName().equals("Unready$Parent")) {
                use(type);
            }
            return type;
        }
    }

    private static int uses;

    private static void use(Class<?> type) {
        Object array = Array.newInstance(type, 3);
        Agent.call("reference", type);
        Agent.call("reference", array);
        synchronized (array) {
            Await.run(() -> array.wait(1));
        }
        Thread contender = new Thread(() -> {
            synchronized (type) {
                uses++;
            }
        });
        synchronized (type) {
            contender.start();
            Await.state(contender, Thread.State.BLOCKED);
            Await.run(() -> type.wait(1));
            uses += Array.getLength(array);
        }
    }

    static final class Unlinked {}

    public static void main(String[] arguments) throws Exception {
        for (Class<?> type : new Class<?>[] {int.class, int[][].class, Unlinked.class}) {
            uses += type.isArray() ? 1 : 0;
        }
        Class<?> child = new Loader().loadClass("Unready$Child");
        use(child.getSuperclass());
        System.out.println("expect loaded=\"" + child.getName() + "\" uses=" + (uses >= 7));
    }
}

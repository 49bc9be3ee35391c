import java.lang.reflect.Array;

/**
 * A thread uses the Class object of a class that is not linked while it has a lock; another one waits for that
 * lock in the class loader. Linking the class would ask this loader for another class.
 */
final class LockedOut {
    static class Made {}

    static class Needed extends Made {}

    /** To verify this, the VM loads the class that is returned. */
    static final class Named {
        static Made make() {
            return new Needed();
        }
    }

    static final class Other {}

    private static final Object LOCK = new Object();
    private static volatile boolean locked, asked;

    private static final class Loader extends ClassFile.Loader {
        Loader() {
            super("LockedOut$Made", "LockedOut$Needed", "LockedOut$Named", "LockedOut$Other");
        }

        @Override
        Class<?> loadOwn(String name) throws ClassNotFoundException {
            if (name.equals("LockedOut$Other")) {
                asked = true;
                synchronized (LOCK) {
                    locked = false;
                }
            }
            return super.loadOwn(name);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Loader loader = new Loader();
        Class<?> named = loader.loadClass("LockedOut$Named");
        Thread other = Await.start("other", () -> {
            Await.until("the lock", () -> locked);
            loader.loadClass("LockedOut$Other");
        });
        Object array;
        String name;
        synchronized (LOCK) {
            locked = true;
            Await.until("the question", () -> asked);
            name = named.getTypeName();
            array = Array.newInstance(named, 3);
            Agent.call("reference", named);
            Agent.call("reference", array);
            synchronized (named) {
                named.wait(1);
            }
        }
        other.join();
        Class.forName(named.getName(), true, loader);
        Agent.call("reference", array);
        System.out.println("expect name=" + name + " arrays=" + Agent.call("count arrays", named));
    }
}

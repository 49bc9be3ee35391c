import java.lang.reflect.Field;
import java.util.function.IntSupplier;

/**
 * A class loader that is not parallel capable. One thread is in its loadClass and waits for a lock. The owner of the
 * lock runs the first code of a class of the loader.
 */
final class LoaderLock {
    private static final Object LOCK = new Object();
    private static volatile boolean isLocked;
    private static volatile int length;

    public static final class Made implements IntSupplier {
        @Override
        public int getAsInt() {
            return new int[1].length;
        }
    }

    private static final class Loader extends ClassFile.Loader {
        Loader() {
            super("LoaderLock$Made", "Wanted");
        }

        @Override
        Class<?> loadOwn(String name) throws ClassNotFoundException {
            if (!name.equals("Wanted")) {
                return super.loadOwn(name);
            }
            isLocked = true;
            synchronized (LOCK) {
                throw new ClassNotFoundException(name);
            }
        }
    }

    /** Makes an instance without its constructor, which would be the first code of the class. */
    private static IntSupplier make(Class<?> type) throws ReflectiveOperationException {
        Class<?> unsafe = Class.forName("sun.misc.Unsafe");
        Field field = unsafe.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        return (IntSupplier) unsafe.getMethod("allocateInstance", Class.class).invoke(field.get(null), type);
    }

    /** With an argument the events are enabled when the class is loaded. */
    public static void main(String[] arguments) throws Exception {
        Loader loader = new Loader();
        IntSupplier made = make(loader.loadClass("LoaderLock$Made"));
        if (arguments.length > 0) {
            Agent.call("enable");
        }
        Thread loads = new Thread(() -> {
            try {
                loader.loadClass("Wanted");
            } catch (ClassNotFoundException e) {
                // As expected.
            }
        });
        Thread runs = new Thread(() -> {
            synchronized (LOCK) {
                loads.start();
                Await.until("the loader", () -> isLocked);
                Await.state(loads, Thread.State.BLOCKED);
                length = made.getAsInt();
            }
        });
        runs.start();
        Await.until("both threads", () -> length > 0 && !loads.isAlive());
        System.out.println("expect length=" + length);
    }
}

import java.lang.reflect.InvocationTargetException;

/** Ends after a virtual thread has slept, if there are virtual threads. The VM loads classes meanwhile. */
public final class Transitions implements Runnable {
    public void run() {
        Conform.pause();
    }

    public static void main(String[] arguments) throws IllegalAccessException, InvocationTargetException {
        try {
            Object thread = Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, new Transitions());
            Conform.join((Thread) thread);
        } catch (NoSuchMethodException older) {
            new Transitions().run();
        }
    }
}

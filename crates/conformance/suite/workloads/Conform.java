/** The door to the agent under which the program runs: each call is answered by its function called(). */
public final class Conform {
    static {
        System.load(System.getProperty("conform.agent"));
    }

    private Conform() {}

    static native int call(String what, int number, Object object);

    static int call(String what) {
        return call(what, 0, null);
    }

    static int call(String what, int number) {
        return call(what, number, null);
    }

    static int call(String what, Object object) {
        return call(what, 0, object);
    }

    /** Waits until the agent answers with this number. */
    static void await(String what, int number) {
        while (call(what) != number) {
            pause();
        }
    }

    /** Lets others go on. */
    static void pause() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted.toString());
        }
    }

    static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted.toString());
        }
    }
}

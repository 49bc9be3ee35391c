/** Threads that count, and one that waits. */
public final class Suspension extends Thread {
    private static final int COUNT = 3;

    private final String what;
    private final int number;

    private Suspension(String what, int number) {
        this.what = what;
        this.number = number;
        setDaemon(true);
    }

    public void run() {
        if (what.equals("dies")) {
            Conform.call(what);
        } else if (what.equals("waits")) {
            Conform.call(what);
            waitForEver();
        } else {
            count();
        }
    }

    private void count() {
        while (true) {
            Conform.call(what, number);
        }
    }

    private synchronized void waitForEver() {
        while (true) {
            try {
                wait();
            } catch (InterruptedException interrupted) {
                return;
            }
        }
    }

    public static void main(String[] arguments) {
        new Suspension("control", 0).start();
        for (int i = 0; i < COUNT; i++) {
            new Suspension("step", i).start();
        }
        new Suspension("waits", 0).start();
        while (Conform.call("begun", COUNT) == 0) {
            Conform.pause();
        }
        Conform.await("is waiting", 1);
        // The last one, so that no other thread gets its JNIEnv.
        Suspension dying = new Suspension("dies", 0);
        dying.start();
        Conform.join(dying);
        Conform.call("one");
        Conform.call("lists", COUNT);
        Conform.call("has run");
    }
}

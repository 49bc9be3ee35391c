/** Receives the calls that {@code methods.c} inserts. It belongs to the boot loader, so that every class finds it. */
public final class Tracker {
    private Tracker() {}

    public static native void enter(int method);

    public static native void leave(int method);
}

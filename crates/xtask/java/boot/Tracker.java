/** The methods that rewritten code calls. They do almost nothing, so that a benchmark shows the cost of rewriting. */
public final class Tracker {
    private static int calls;

    private Tracker() {}

    public static void enter(int method) {
        calls++;
    }

    public static void exit(int method) {
        calls--;
    }
}

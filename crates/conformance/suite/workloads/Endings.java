/** Ends by itself, or waits to be ended. The agent says which. */
public final class Endings {
    public static void main(String[] arguments) {
        int mode = Conform.call("mode");
        switch (mode) {
            case 'p':
            case 'e':
                break;
            case 's':
                Conform.call("signal");
                while (Conform.call("dumps") == 0) {
                    Conform.pause();
                }
                Conform.call("dumped");
                while (Conform.call("resets") == 0) {
                    Conform.pause();
                }
                Conform.call("reset");
                break;
            case 'j':
                Runtime.getRuntime().addShutdownHook(new Thread(() -> Conform.call("hook")));
                Conform.call("exit");
                break;
            case 't':
                // By another thread: this one only waits for the end.
                Conform.call("exit");
                while (Conform.call("mode") == mode) {
                    Conform.pause();
                }
                break;
            default:
                Conform.call("ran");
        }
    }
}

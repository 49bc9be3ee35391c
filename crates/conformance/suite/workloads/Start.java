/** Has a class loaded after the agent has changed its handler. */
public final class Start {
    static final class Fresh {
        int field = 1;
    }

    public static void main(String[] arguments) {
        Conform.call("refused");
        Conform.call("main");
        if (new Fresh().field == 1) {
            Conform.call("end");
        }
    }
}

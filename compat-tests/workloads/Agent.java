/** The door to the agent under which the program runs: calls its function called(). */
public final class Agent {
    static {
        System.load(System.getProperty("agent.path"));
    }

    private Agent() {}

    public static native long call(String what, Object object);

    public static long call(String what) {
        return call(what, null);
    }
}

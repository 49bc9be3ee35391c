/** Has an event enabled by a library that is not the agent's, or only calls the agent. */
final class Control {
    static final class Loaded {}

    static native int enable(int event);

    /** Asks for the interface with a call that returns to the VM. */
    static native int get(int room);

    /** With the argument "agent" it is the agent that is called. */
    public static void main(String[] arguments) {
        if (arguments.length > 0) {
            Agent.call("check");
            return;
        }
        System.load(System.getProperty("control.path"));
        System.out.println("expect result=" + get(0));
        System.out.println("expect result=" + enable(42));
        new Loaded();
    }
}

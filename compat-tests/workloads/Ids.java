/** Hands objects of its own to the agent. */
final class Ids {
    static final class Known {
        void method() {}
    }

    public static void main(String[] arguments) {
        new Known().method();
        Agent.call("thread", Thread.currentThread());
        Agent.call("class", Known.class);
    }
}

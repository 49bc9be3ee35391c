/** Has the agent start native threads. */
final class NativeThreads {
    public static void main(String[] arguments) {
        Agent.call("attached");
    }
}

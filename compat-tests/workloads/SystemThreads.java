/** Calls the agent, which waits until its own threads have ended. */
final class SystemThreads {
    /** What a thread of the agent reports of itself. */
    static String describe() {
        Thread thread = Thread.currentThread();
        return "name=\"" + thread.getName() + "\" daemon=" + (thread.isDaemon() ? 1 : 0) + " priority=" + thread.getPriority();
    }

    public static void main(String[] arguments) {
        Agent.call("wait");
    }
}

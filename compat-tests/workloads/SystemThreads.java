/** Calls the agent, which waits until its own threads have ended. */
final class SystemThreads {
    /** Returns the description of the calling thread, which is one of the agent's. */
    static String describe() {
        Thread thread = Thread.currentThread();
        return "name=\"" + thread.getName() + "\" daemon=" + (thread.isDaemon() ? 1 : 0) + " priority=" + thread.getPriority();
    }

    public static void main(String[] arguments) {
        Agent.call("wait");
    }
}

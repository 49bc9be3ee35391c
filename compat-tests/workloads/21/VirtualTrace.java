/** A virtual thread that has the agent take its trace. */
final class VirtualTrace {
    public static void main(String[] arguments) throws InterruptedException {
        Agent.call("self 1");
        Thread.ofVirtual().name("virtual").start(VirtualTrace::inVirtualThread).join();
    }

    private static void inVirtualThread() {
        Agent.call("self 100");
    }
}

/** A platform thread and a virtual one that wait in native code while they are sampled. */
final class NativeWaits {
    public static void main(String[] arguments) throws InterruptedException {
        Thread.ofPlatform().start(() -> Agent.call("platform")).join();
        Thread.ofVirtual().start(() -> Agent.call("virtual")).join();
    }
}

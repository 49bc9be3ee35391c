/** Has the agent test its raw monitors, then collects garbage while a thread waits in one. */
final class RawMonitors {
    public static void main(String[] arguments) throws InterruptedException {
        Agent.call("test");
        Agent.call("prepare");
        Thread waiting = new Thread(() -> Agent.call("wait"), "waiting");
        waiting.start();
        Await.until("the thread to wait", () -> Agent.call("waiting") == 1);
        for (int i = 0; i < 10; i++) {
            System.gc();
        }
        waiting.interrupt();
        System.out.println("expect alive=" + waiting.isAlive());
        Agent.call("release");
        waiting.join();
        System.out.println("expect alive=" + waiting.isAlive());
    }
}

/** Sleeps on a new thread, and prints the time that the agent saw pass, in milliseconds. */
final class CpuTime {
    public static void main(String[] arguments) throws InterruptedException {
        Await.start("sleeper", () -> {
            long before = Agent.call("time");
            Thread.sleep(200);
            System.out.println("expect slept=" + (Agent.call("time") - before) / 1_000_000);
        }).join();
    }
}

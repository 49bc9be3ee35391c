/** Computes and sleeps, and prints the time the agent saw pass for each, in milliseconds. */
final class CpuTime {
    private static final long ENOUGH = 30_000_000;
    private static volatile long work;

    public static void main(String[] arguments) throws InterruptedException {
        long start = Agent.call("time"), last = start, backwards = 0;
        while (last - start < ENOUGH) {
            for (int i = 0; i < 1000; i++) {
                work++;
            }
            long now = Agent.call("time");
            backwards += now < last ? 1 : 0;
            last = now;
        }
        System.out.println("expect what=computing ms=" + (last - start) / 1_000_000 + " backwards=" + backwards);

        Thread sleeper = new Thread(() -> {
            long before = Agent.call("time");
            try {
                Thread.sleep(200);
            } catch (InterruptedException e) {
                return;
            }
            System.out.println("expect what=sleeping ms=" + (Agent.call("time") - before) / 1_000_000);
        });
        sleeper.start();
        sleeper.join();
    }
}

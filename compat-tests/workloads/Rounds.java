/** Runs until a thread of the agent's has had some rounds; with an argument, threads start and end meanwhile. */
final class Rounds {
    private static final long ENOUGH = 20;

    public static void main(String[] arguments) {
        Await.until("rounds", () -> {
            if (arguments.length > 0) {
                run(new Thread(() -> {}));
            }
            return Agent.call("rounds") >= ENOUGH;
        });
    }

    private static void run(Thread thread) {
        thread.start();
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}

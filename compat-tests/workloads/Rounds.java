/** Runs until a thread of the agent's has had some rounds; with an argument, threads start and end meanwhile. */
final class Rounds {
    private static final long ENOUGH = 20;

    public static void main(String[] arguments) {
        Await.until("rounds", () -> {
            if (arguments.length > 0) {
                Thread thread = new Thread(() -> {});
                thread.start();
                Await.run(thread::join);
            }
            return Agent.call("rounds") >= ENOUGH;
        });
    }
}

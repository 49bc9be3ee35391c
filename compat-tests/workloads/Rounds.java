/** Runs until a thread of the agent's has had some rounds. */
final class Rounds {
    private static final long ENOUGH = 20;

    public static void main(String[] arguments) {
        Await.until("rounds", () -> Agent.call("rounds") >= ENOUGH);
    }
}

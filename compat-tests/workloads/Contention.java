/** Has the agent's threads meet at a raw monitor. */
final class Contention {
    public static void main(String[] arguments) {
        Agent.call("contend");
    }
}

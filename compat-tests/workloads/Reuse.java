/** Makes garbage, round by round, and has it collected each time. */
final class Reuse {
    private static final int ROUNDS = 10, OBJECTS = 20_000;

    private static volatile Object last;

    public static void main(String[] arguments) {
        for (int round = 0; round < ROUNDS; round++) {
            for (int i = 0; i < OBJECTS; i++) {
                last = new Object();
            }
            Agent.call("run_gc");
        }
        System.out.println("expect objects=" + ROUNDS * OBJECTS);
    }
}

/** Keeps some of what it allocates over several collections, each with one more generation. */
final class Arenas {
    private static final int ROUNDS = 6, EACH = 1_000;

    private static final class Kept {
        int number;
    }

    private static final class Dropped {
        int number;
    }

    public static void main(String[] arguments) {
        Kept[][] kept = new Kept[ROUNDS][EACH];
        Object dropped = null;
        for (int round = 0; round < ROUNDS; round++) {
            for (int i = 0; i < EACH; i++) {
                kept[round][i] = new Kept();
                dropped = new Object[] {dropped == null || i == 0 ? null : dropped, new Dropped()};
            }
            dropped = null;
            long brackets = Agent.call("run_gc");
            // The arrays of Kept, and the array of these, count as instances too.
            System.out.println("expect round=" + round + " brackets=" + brackets
                    + " kept=" + EACH * (round + 1) + " alive=" + (Agent.call("instances", Kept.class) - ROUNDS)
                    + " dropped=" + Agent.call("instances", Dropped.class));
        }
        for (int i = 0; i < EACH; i++) {
            kept[0][i] = null;
        }
        Agent.call("run_gc");
        System.out.println("expect end=1 kept=" + EACH * (ROUNDS - 1)
                + " alive=" + (Agent.call("instances", Kept.class) - ROUNDS));
    }
}

import java.util.concurrent.CyclicBarrier;

/** Two threads ask for collections at once; prints the number of rounds in which each got its own events. */
final class Turns {
    private static final int ROUNDS = 20;

    public static void main(String[] arguments) throws Exception {
        CyclicBarrier begin = new CyclicBarrier(2, () -> Agent.call("reset"));
        Thread owner = new Thread(() -> ask("owner", begin), "owner");
        owner.start();
        ask("guest", begin);
        owner.join();
    }

    private static void ask(String who, CyclicBarrier begin) {
        int told = 0;
        for (int round = 0; round < ROUNDS; round++) {
            Await.run(begin::await);
            told += Agent.call(who) > 0 ? 1 : 0;
        }
        System.out.println("expect who=" + who + " rounds=" + ROUNDS + " told=" + told);
    }
}

/**
 * Makes garbage, round by round, and has it collected each time; one of each 500 objects stays. With an
 * argument each object is made by a thread of its own.
 */
final class Reuse {
    private static final int ROUNDS = 10, OBJECTS = 20_000, KEPT = 500, THREADS = 400;

    private static final Object[] kept = new Object[ROUNDS * OBJECTS / KEPT];
    private static volatile Object last;

    public static void main(String[] arguments) throws InterruptedException {
        if (arguments.length > 0) {
            for (int i = 0; i < THREADS; i++) {
                Thread thread = new Thread(() -> last = new Object());
                thread.start();
                thread.join();
            }
            return;
        }
        for (int round = 0; round < ROUNDS; round++) {
            for (int i = 0; i < OBJECTS; i++) {
                last = new Object();
                kept[(round * OBJECTS + i) / KEPT] = last;
            }
            Agent.call("run_gc");
        }
        System.out.println("expect objects=" + ROUNDS * OBJECTS);
    }
}

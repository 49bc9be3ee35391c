/** Threads that end while the agent suspends them or looks at them. The argument is the test. */
final class Ending {
    private static final int ROUNDS = 5, THREADS = 50;
    private static int reused, announced;

    public static void main(String[] arguments) throws InterruptedException {
        switch (arguments[0]) {
            case "suspended": suspended(); break;
            default: lookedAt();
        }
    }

    private static Thread victim(String held) {
        Agent.call("hold " + held);
        Thread victim = new Thread(() -> {}, "victim");
        victim.setDaemon(true);
        victim.start();
        Agent.call("await");
        return victim;
    }

    /** A thread that was suspended while it ended ends when it is resumed. */
    private static void suspended() throws InterruptedException {
        int ended = 0;
        for (int i = 0; i < ROUNDS && ended == i; i++) {
            Thread victim = victim("handler");
            Agent.call("suspend");
            Agent.call("release");
            // Time to get as far as it can.
            Thread.sleep(20);
            boolean isThere = victim.isAlive();
            Agent.call("resume");
            victim.join();
            ended += isThere && !victim.isAlive() ? 1 : 0;
        }
        System.out.println("expect rounds=" + ROUNDS + " ended=" + ended);
    }

    /** A thread that was looked at while it ended is gone, and its environment is another thread's. */
    private static void lookedAt() throws InterruptedException {
        int refused = 0;
        for (int i = 0; i < ROUNDS; i++) {
            Thread victim = victim("after");
            refused += Agent.call("look") != 0 ? 1 : 0;
            Agent.call("release");
            victim.join();
            for (int j = 0; j < THREADS; j++) {
                Thread next = new Thread(() -> {
                    if (Agent.call("reused") == 1) {
                        reused++;
                        announced += Agent.call("announced");
                    }
                });
                next.start();
                next.join();
            }
        }
        System.out.println("expect rounds=" + ROUNDS + " refused=" + refused
            + " reused=" + reused + " announced=" + announced);
    }
}

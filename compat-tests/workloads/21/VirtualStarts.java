import java.util.concurrent.atomic.AtomicLong;

/**
 * Calls the agent beside platform and virtual threads that start virtual threads all the time. The arguments are the
 * number of rounds and the calls of each round: by default dumps and announcements of all objects.
 */
final class VirtualStarts {
    private static final AtomicLong STARTED = new AtomicLong();
    private static volatile boolean over;

    public static void main(String[] arguments) throws InterruptedException {
        int rounds = Integer.parseInt(arguments[0]);
        String[] calls = arguments.length > 1 ? arguments[1].split(",") : new String[] {"objects", "both"};
        Thread[] starters = {
            Thread.ofPlatform().daemon().start(VirtualStarts::startAll),
            Thread.ofPlatform().daemon().start(VirtualStarts::startAll),
            Thread.ofVirtual().start(VirtualStarts::startAll),
        };
        Await.until("threads to start", () -> STARTED.get() > 1000);
        for (int i = 0; i < rounds; i++) {
            for (String what : calls) {
                long result = Agent.call(what);
                if (result != 0) {
                    throw new IllegalStateException(what + ": " + result);
                }
            }
            long before = STARTED.get();
            Await.until("threads to go on", () -> STARTED.get() > before);
        }
        over = true;
        Await.join(starters);
        System.out.println("expect rounds=" + rounds);
    }

    private static void startAll() {
        while (!over) {
            Thread thread = Thread.ofVirtual().unstarted(STARTED::incrementAndGet);
            thread.start();
            Await.run(thread::join);
        }
    }
}

import java.util.concurrent.atomic.AtomicLong;

/**
 * Asks for dumps and announcements of all objects, beside platform and virtual threads that start virtual threads all the
 * time. The argument is the number of rounds.
 */
final class VirtualStarts {
    private static final AtomicLong STARTED = new AtomicLong();
    private static volatile boolean over;

    public static void main(String[] arguments) throws InterruptedException {
        int rounds = Integer.parseInt(arguments[0]);
        Thread[] starters = {
            Thread.ofPlatform().daemon().start(VirtualStarts::startAll),
            Thread.ofPlatform().daemon().start(VirtualStarts::startAll),
            Thread.ofVirtual().start(VirtualStarts::startAll),
        };
        Await.until("threads to start", () -> STARTED.get() > 1000);
        for (int i = 0; i < rounds; i++) {
            for (String what : new String[] {"objects", "both"}) {
                long result = Agent.call(what);
                if (result != 0) {
                    throw new IllegalStateException(what + ": " + result);
                }
            }
            long before = STARTED.get();
            Await.until("threads to go on", () -> STARTED.get() > before);
        }
        over = true;
        for (Thread starter : starters) {
            starter.join();
        }
        System.out.println("expect rounds=" + rounds);
    }

    private static void startAll() {
        while (!over) {
            Thread thread = Thread.ofVirtual().unstarted(STARTED::incrementAndGet);
            thread.start();
            try {
                thread.join();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}

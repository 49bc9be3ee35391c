import java.util.concurrent.CountDownLatch;

/** A worker and the main thread look at each other's storage; then very many threads come and go. */
final class Storage {
    public static void main(String[] arguments) throws InterruptedException {
        Agent.call("own");
        CountDownLatch started = new CountDownLatch(1), changed = new CountDownLatch(1);
        Thread worker = new Thread(() -> {
            Agent.call("own");
            started.countDown();
            try {
                changed.await();
            } catch (InterruptedException e) {
                return;
            }
            Agent.call("worker");
        }, "worker");
        worker.start();
        started.await();
        Agent.call("other");
        changed.countDown();
        worker.join();
        for (int i = 0; i < 1000; i++) {
            Thread brief = new Thread(() -> {}, "brief");
            brief.start();
            brief.join();
        }
        System.out.println("expect threads=1001");
    }
}

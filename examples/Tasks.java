/** Four threads with a thousand tasks each, as something to profile. */
public final class Tasks {
    static volatile Object last;

    static final class Task {
        final int number;

        Task(int number) {
            this.number = number;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Thread[] workers = new Thread[4];
        for (int i = 0; i < workers.length; i++) {
            workers[i] = new Thread(Tasks::work, "worker-" + i);
            workers[i].start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
        System.out.println(workers.length * 1000 + " tasks are done");
    }

    private static void work() {
        for (int i = 0; i < 1000; i++) {
            last = new Task(i);
        }
    }
}

/** Starts and joins threads with names and groups of all kinds. */
final class Threads {
    public static void main(String[] arguments) throws InterruptedException {
        ThreadGroup outer = new ThreadGroup("outer \"group\"");
        ThreadGroup inner = new ThreadGroup(outer, "inner");
        Thread[] threads = new Thread[60];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(i % 2 == 0 ? inner : outer, () -> Thread.yield(), "thread-" + i);
        }
        threads[0].setName("");
        threads[1].setName("größe \\ 日本 \"quoted\"\n\ud83d\udca1");
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("expect threads=" + threads.length);
    }
}

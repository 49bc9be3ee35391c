final class Waiters {
    private static native void check(Object monitor);

    public static void main(String[] arguments) throws InterruptedException {
        Thread waiting = new Thread(() -> {
            synchronized (Waiters.class) {
                try {
                    Waiters.class.wait();
                } catch (InterruptedException e) { }
            }
        });
        waiting.start();
        while (waiting.getState() != Thread.State.WAITING) Thread.sleep(1);
        check(Waiters.class);
        waiting.interrupt();
    }
}

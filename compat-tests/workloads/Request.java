/** Names classes and threads; the agent requests their events. */
final class Request {
    public static void main(String[] arguments) throws InterruptedException {
        Thread over = new Thread(() -> {}, "over");
        over.start();
        over.join();
        Object lock = new Object();
        Thread waiting = new Thread(() -> {
            synchronized (lock) {
                try {
                    lock.wait();
                } catch (InterruptedException released) {
                    return;
                }
            }
        }, "waiting");
        waiting.start();
        Await.state(waiting, Thread.State.WAITING);

        Agent.call("class", Request.class);
        Agent.call("array", String[].class);
        Agent.call("thread", Thread.currentThread());
        Agent.call("thread", waiting);
        Agent.call("nested", String.class);
        System.out.println("expect refused=" + (refused("thread", over) + refused("thread", new Thread())
                + refused("thread", "a string") + refused("class", "a string") + refused("class", over)
                + refused("class", null) + refused("class", int.class) + refused("thread", Request.class)));
        waiting.interrupt();
        waiting.join();
    }

    private static int refused(String what, Object object) {
        return Agent.call(what, object) == -1 ? 1 : 0;
    }
}

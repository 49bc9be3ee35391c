/** Two threads and more at the agent's raw monitors. */
public final class RawMonitors extends Thread {
    private final String what;

    private RawMonitors(String what) {
        this.what = what;
    }

    public void run() {
        Conform.call("contender");
        Conform.call(what);
    }

    /** Starts a thread that does this, and waits until it can go no further. */
    private static Thread blocked(String what) {
        Thread thread = new RawMonitors(what);
        thread.start();
        Conform.await("blocked", 1);
        return thread;
    }

    public static void main(String[] arguments) {
        Thread early = blocked("enter early");
        Conform.call("leave early");
        Conform.join(early);
        Conform.call("early is free");
        Conform.call("no more of it");
        Conform.call("alone too");

        for (int i = 0; i < 3; i++) {
            Conform.call("enter");
        }
        Thread other = blocked("enter once");
        Conform.call("still out");
        Conform.call("exit");
        Conform.call("exit");
        Conform.call("still out");
        Conform.call("exit");
        Conform.join(other);
        Conform.call("entered");

        Conform.call("enter");
        other = blocked("not the owner");
        Conform.call("not taken away");
        Conform.call("exit");
        Conform.join(other);

        Thread[] waiting = new Thread[3];
        for (int i = 0; i < waiting.length; i++) {
            waiting[i] = new RawMonitors("wait deeply");
            waiting[i].start();
        }
        Conform.await("waiting", waiting.length);
        Conform.call("collect");
        waiting[0].interrupt();
        Conform.call("notify");
        for (int i = 0; i < waiting.length; i++) {
            Conform.join(waiting[i]);
        }
        Conform.call("all returned", waiting.length);

        Conform.call("alone");
        for (int hidden = 0; hidden < 2; hidden++) {
            Conform.call("own named", hidden);
            other = blocked(hidden == 1 ? "enter hidden" : "enter named");
            Conform.call("leave named", hidden);
            Conform.join(other);
        }
        Conform.call("after contention");
        Conform.call("own waited");
        other = blocked("enter and notify");
        Conform.call("wait in it");
        Conform.join(other);
    }
}

/** Hands the agent things to request the events of. */
public final class Requests extends Thread {
    private boolean ends;
    int field = 7;

    private Requests() {
        super("the other thread");
    }

    public synchronized void run() {
        while (!ends) {
            try {
                wait();
            } catch (InterruptedException interrupted) {
                return;
            }
        }
    }

    private synchronized void end() {
        ends = true;
        notifyAll();
    }

    public static void main(String[] arguments) {
        Requests thread = new Requests();
        Conform.call("new thread", thread);
        thread.start();
        Conform.call("thread", thread);
        thread.end();
        Conform.join(thread);
        Conform.call("dead thread", thread);
        Conform.call("class", Requests.class);
        Conform.call("object", new StringBuffer("text"));
        Conform.call("class of classes", Class.class);
        Conform.call("class object", Requests.class);
        Conform.call("primitive type", int.class);
    }
}

/** Makes references on a thread that runs while events are switched. */
public final class Events extends Thread {
    private static int asked;
    private static int answered;
    private static int answer;

    public void run() {
        for (int next = 1; next <= 2; next++) {
            while (asked() < next) {
                Conform.pause();
            }
            answer(Conform.call("made"));
        }
    }

    private static synchronized int asked() {
        return asked;
    }

    private static synchronized void answer(int number) {
        answer = number;
        answered++;
    }

    private static synchronized boolean isAnswered() {
        return answered == asked;
    }

    private static synchronized void askOnce() {
        asked++;
    }

    private static int ask() {
        askOnce();
        while (!isAnswered()) {
            Conform.pause();
        }
        return answer;
    }

    public static void main(String[] arguments) {
        Conform.call("switch");
        new Events().start();
        Conform.call("on");
        Conform.call("other thread", ask());
        Conform.call("off");
        Conform.call("other thread again", ask());
    }
}

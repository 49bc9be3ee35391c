/** Calls methods of every kind, and counts the calls. */
public class Methods {
    private static int leaves;

    static class Super {
        int inherited() {
            return 1;
        }
    }

    static final class Initialized {
        static int value = Integer.parseInt("1");
    }

    private int instance() {
        return leaves;
    }

    private static void leaf() {
        leaves++;
    }

    private static void calls() {
        for (int i = 0; i < 10; i++) {
            leaf();
        }
    }

    private static void throwing(int depth) {
        if (depth == 1) {
            throw new IllegalStateException();
        }
        throwing(depth - 1);
    }

    private static void recursive(int depth) {
        if (depth > 1) {
            recursive(depth - 1);
        }
    }

    /** The agent knows where its branches and switches are. */
    private static int steps(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum += i;
        }
        switch (n + 8) {
            case 10:
                sum++;
                break;
            case 11:
                sum += 2;
                break;
            case 12:
                sum += 3;
                break;
            default:
                sum = 0;
        }
        switch (n * 1000) {
            case -5:
                sum++;
                break;
            case 3000:
                sum += 4;
                break;
            case 70000:
                sum += 5;
                break;
            default:
                sum = 0;
        }
        return sum;
    }

    static final class Sub extends Super {}

    private static void callAll() {
        for (int i = 0; i < 20; i++) {
            calls();
        }
        try {
            throwing(5);
        } catch (IllegalStateException thrown) {
            leaves++;
        }
        recursive(100);
        Methods methods = new Methods();
        Sub sub = new Sub();
        sub.inherited();
        sub.inherited();
        leaves += Initialized.value;
        Conform.call("nothing");
        Conform.call("judge", 20);
        methods.instance();
        methods.instance();
        methods.instance();
        Conform.call("receivers", methods);
    }

    public static void main(String[] arguments) {
        Conform.call("listen");
        callAll();
        Conform.call("disable");
        calls();
        Conform.call("disabled");
        Conform.call("step", 1);
        steps(3);
        Conform.call("step", 0);
        Conform.call("steps", 48);
        Conform.call("step off");
        Conform.call("step", 1);
        steps(3);
        Conform.call("steps again");
    }
}

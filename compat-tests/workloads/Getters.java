/** Calls methods that only read or write fields, and methods that do more. */
final class Getters {
    static final int CALLS = 30_000;

    private static int shared = 1;
    private int value = 1;
    private final Getters next;

    Getters(Getters next) {
        this.next = next;
    }

    int get() {
        return value;
    }

    void set(int to) {
        value = to;
    }

    Getters next() {
        return next;
    }

    static int shared() {
        return shared;
    }

    static int constant() {
        return 1_000;
    }

    void empty() {}

    int increased() {
        return value + 1;
    }

    int nextsValue() {
        return next.get();
    }

    int element(int[] array) {
        return array[0];
    }

    public static void main(String[] arguments) {
        int[] array = {1};
        long sum = 0;
        for (int i = 0; i < CALLS; i++) {
            Getters getters = new Getters(new Getters(null));
            getters.set(i);
            getters.empty();
            sum += getters.get() + getters.next().get() + shared() + constant();
            sum += getters.increased() + getters.nextsValue() + getters.element(array);
        }
        System.out.println("expect method=Getters.<init> calls=" + 2 * CALLS);
        for (String method : new String[] {"increased", "nextsValue", "element"}) {
            System.out.println("expect method=Getters." + method + " calls=" + CALLS);
        }
        for (String method : new String[] {"get", "set", "next", "shared", "constant", "empty"}) {
            System.out.println("expect method=Getters." + method + " calls=0");
        }
        System.out.println(sum);
    }
}

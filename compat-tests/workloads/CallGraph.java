/**
 * A program that does nothing but call small methods. The compiler is told to inline none of them, and each method's
 * callers are known: {@code sampling.rs} has the list.
 */
final class CallGraph {
    private static volatile long sink;
    private static long state = 1;

    private static void leaf() {
        sink = state;
    }

    private static long mix(long number) {
        return number * 6_364_136_223_846_793_005L + 1_442_695_040_888_963_407L;
    }

    private static void store(long number) {
        state = mix(number);
        leaf();
    }

    private static long many(long a, long b, long c, long d) {
        long e = mix(a), f = mix(b), g = mix(c), h = mix(d);
        leaf();
        return e + f * g + h;
    }

    private static void left() {
        store(state);
        leaf();
    }

    private static void right() {
        store(many(state, 1, 2, 3));
    }

    private static void fails(long number) {
        if (number % 64 == 0) {
            throw FAILURE;
        }
    }

    private static final RuntimeException FAILURE = new RuntimeException("expected", null, false, false) { };

    private static void catches(long number) {
        try {
            fails(number);
        } catch (RuntimeException e) {
            leaf();
        }
    }

    private static void round(long number) {
        left();
        right();
        catches(number);
    }

    public static void main(String[] arguments) {
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000;
        for (long number = 0; number % 1024 != 0 || System.nanoTime() < end; number++) {
            round(number);
        }
        System.out.println("done");
    }
}

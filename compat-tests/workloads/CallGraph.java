/**
 * A program that does nothing but call small methods, whose frames have many sizes: a compiled method keeps its local
 * variables there while it calls another. The compiler is told to inline none of them, and each method's callers are
 * known: {@code sampling.rs} has the list. Run with the number of methods.
 */
final class CallGraph {
    private static final RuntimeException FAILURE = new RuntimeException("expected", null, false, false) { };
    private static volatile long sink;

    private static long mix(long number) {
        return number * 6_364_136_223_846_793_005L + 1_442_695_040_888_963_407L;
    }

    private static long leaf0(long n) {
        return mix(n);
    }

    private static long leaf2(long n) {
        long a = n * 3, b = n * 5;
        return mix(n) ^ a ^ b;
    }

    private static long leaf4(long n) {
        long a = n * 3, b = n * 5, c = n * 7, d = n * 9;
        return mix(n) ^ a ^ b ^ c ^ d;
    }

    private static long leaf6(long n) {
        long a = n * 3, b = n * 5, c = n * 7, d = n * 9, e = n * 11, f = n * 13;
        return mix(n) ^ a ^ b ^ c ^ d ^ e ^ f;
    }

    private static long caller0(long n) {
        return leaf0(n) + leaf2(n) + leaf4(n) + leaf6(n);
    }

    private static long caller2(long n) {
        long a = n * 3, b = n * 5;
        return leaf0(n) + leaf2(n) + leaf4(n) + leaf6(n) ^ a ^ b;
    }

    private static long caller4(long n) {
        long a = n * 3, b = n * 5, c = n * 7, d = n * 9;
        return leaf0(n) + leaf2(n) + leaf4(n) + leaf6(n) ^ a ^ b ^ c ^ d;
    }

    private static long fails(long n) {
        if (n != 0) {
            throw FAILURE;
        }
        return n;
    }

    private static long passes(long n) {
        long a = n * 3, b = n * 5, c = n * 7, d = n * 9;
        return fails(n) ^ a ^ b ^ c ^ d;
    }

    private static long catches(long n) {
        try {
            return passes(n | 1);
        } catch (RuntimeException e) {
            return mix(n);
        }
    }

    private static long round(long n) {
        return caller0(n) ^ caller2(n) ^ caller4(n) ^ catches(n);
    }

    public static void main(String[] arguments) {
        long methods = Long.parseLong(arguments[0]), number = 1;
        while (Agent.call("compiled") < methods) {
            number = round(number);
        }
        Agent.call("begin");
        do {
            number = round(number);
        } while (Agent.call("sampled") > 0);
        Agent.call("end");
        sink = number;
        System.out.println("done");
    }
}

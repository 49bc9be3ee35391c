/** Recursions that end when the stack is full, with frames at all kinds of places. */
final class Overflow {
    private static final int ROUNDS = 80;

    private static int narrow, wide, made, caught, sum;

    /** Its constructor makes another one, and so on. */
    static final class Chain {
        Chain(int depth) {
            made++;
            sum += new Chain(depth + 1).hashCode();
        }
    }

    private static void narrow(int depth) {
        narrow++;
        narrow(depth + 1);
        sum += depth;
    }

    /** So that what follows lies some words further down. */
    private static void wide(int words, long a, long b, Object c) {
        wide++;
        if (words == 0 && b == 0) {
            narrow(0);
        } else if (words == 0) {
            new Chain(0);
        } else {
            wide(words - 1, a, b, c);
        }
        sum += words;
    }

    private static void overflow(int round) {
        try {
            wide(round % 16, round, round / 16 % 2, null);
        } catch (StackOverflowError e) {
            caught++;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        // Room for as many frames, whether their words have 64 bits or 32.
        int stack = Integer.getInteger("sun.arch.data.model") << 13;
        Thread thread = new Thread(null, () -> {
            for (int round = 0; round < ROUNDS; round++) {
                overflow(round);
            }
        }, "overflow", stack);
        thread.start();
        thread.join();
        System.out.println("expect method=Overflow.narrow calls=" + narrow);
        System.out.println("made=" + made);
        System.out.println("expect method=Overflow.wide calls=" + wide);
        System.out.println("expect method=Overflow.overflow calls=" + caught);
    }
}

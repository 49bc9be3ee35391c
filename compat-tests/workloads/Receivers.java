import java.util.function.LongSupplier;

/** Constructs objects in every way; METHOD_ENTRY2 has to name the object of each constructor. */
public final class Receivers {
    static final int ROUNDS = 3000;

    static long sum;

    static class Base {
        final long value;

        Base(long value) {
            this.value = value;
        }

        /** The agent counts how many constructors it heard of with this object. */
        final void touch() {
            sum += value;
        }
    }

    static final class Derived extends Base {
        /** Makes another object before its own superclass has been initialized. */
        Derived(int n) {
            this(n, new Base(n));
        }

        Derived(double d, Base other) {
            super((long) d + other.value);
            other.touch();
        }
    }

    /** Escapes from nowhere, so that compiled code would rather not make it. */
    static final class Local {
        final int a;
        final int b;

        Local(int a, int b) {
            this.a = a;
            this.b = b;
        }
    }

    /** Its constructor is left by an exception, before or after that of the superclass. */
    static final class Failing extends Base {
        Failing(int n) {
            super(positive(n));
            if (n % 3 == 0) {
                throw new IllegalArgumentException();
            }
        }

        static long positive(int n) {
            if (n % 2 == 0) {
                throw new IllegalArgumentException();
            }
            return n;
        }
    }

    /** Makes another one like it before its own constructor calls that of the superclass. */
    static final class Node extends Base {
        final Node next;

        Node(long n) {
            super(n);
            next = null;
        }

        Node(int n) {
            this(n, new Node((long) n));
        }

        Node(int n, Node next) {
            super(n);
            this.next = next;
        }
    }

    /** Reads from what may be null before it calls the constructor of the superclass. */
    static final class Copy extends Base {
        Copy(Base other) {
            super(other.value);
        }

        Copy(long[] values) {
            super(values.length);
        }
    }

    static void fail(Runnable work) {
        try {
            work.run();
            throw new AssertionError();
        } catch (NullPointerException e) {
            sum++;
        }
    }

    static void construct(int n) {
        new Derived(n).touch();
        sum += new Local(n, n + 1).b;
        try {
            new Failing(n).touch();
        } catch (IllegalArgumentException e) {
            sum++;
        }
        Base anonymous = new Base(n) {
            @Override
            public String toString() {
                return "" + n;
            }
        };
        anonymous.touch();
        Node node = new Node(n);
        node.touch();
        node.next.touch();
        new Copy(node).touch();
        fail(() -> new Copy((Base) null));
        fail(() -> new Copy((long[]) null));
        LongSupplier lambda = () -> n;
        sum += lambda.getAsLong();
    }

    public static void main(String[] args) throws InterruptedException {
        for (int i = 0; i < ROUNDS; i++) {
            construct(i);
        }
        // In each round: Derived has three constructors, the object before it one, the anonymous two; the
        // first Node three, the other one and Copy two each.
        int touched = 6 * ROUNDS, constructors = 13 * ROUNDS;
        for (int i = 0; i < ROUNDS; i++) {
            if (i % 2 != 0 && i % 3 != 0) {
                touched++;
                constructors += 2;
            }
        }
        System.out.println("expect touched=" + touched + " constructors=" + constructors
            + " local=" + ROUNDS + " derived=" + 2 * ROUNDS + " failing=" + ROUNDS
            + " nodes=" + 3 * ROUNDS + " copies=" + 3 * ROUNDS + " sum=" + sum);
    }
}

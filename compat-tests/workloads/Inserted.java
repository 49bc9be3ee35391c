import java.util.function.IntSupplier;

/** Methods with every kind of code that inserting calls has to move. */
final class Inserted {
    interface Shape {
        default double area() {
            return side() * side();
        }

        double side();
    }

    static class Square implements Shape {
        static final Square UNIT = new Square(1);
        private final double side;

        Square(double side) {
            this.side = side < 0 ? 0 : side;
        }

        Square() {
            this(Math.max(2, fibonacci(3)));
        }

        @Override
        public double side() {
            return side;
        }
    }

    static int total;

    static int fibonacci(int n) {
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }

    /** Jumps to its first instruction. */
    static void forever() {
        do {
            total--;
        } while (total > 0);
    }

    static long table(int n) {
        switch (n) {
            case 1:
                return 10L;
            case 2:
                return 20L;
            case 3:
                break;
            default:
                return -1L;
        }
        return 30L;
    }

    static float lookup(int n) {
        switch (n) {
            case -1000:
                return 1f;
            case 5:
                return 2f;
            case 100_000:
                return 3f;
            default:
                return 0f;
        }
    }

    static synchronized Object locked(Object lock) {
        synchronized (lock) {
            return new int[2][3];
        }
    }

    static int lastly(boolean fails) {
        try {
            if (fails) {
                throw new IllegalStateException(new StringBuilder("on ").append(fails ? "purpose" : "").toString());
            }
            return 1;
        } catch (IllegalStateException e) {
            return 2;
        } finally {
            total++;
        }
    }

    static int failing(int depth) {
        if (depth == 0) {
            throw new IllegalArgumentException();
        }
        return failing(depth - 1) + 1;
    }

    static void nothing() {}

    public static void main(String[] arguments) {
        int caught = 0;
        for (int i = 0; i < 50; i++) {
            fibonacci(i % 10);
            table(i % 5);
            lookup(i == 7 ? 100_000 : i);
            locked(Square.UNIT);
            caught += lastly(i % 3 == 0);
            try {
                failing(i % 4);
            } catch (IllegalArgumentException e) {
                caught++;
            }
            total += (int) new Square().area();
            IntSupplier supplier = new IntSupplier() {
                @Override
                public int getAsInt() {
                    return total;
                }
            };
            total = Math.min(supplier.getAsInt(), 5);
            forever();
            nothing();
        }
        System.out.println("expect caught=" + caught);
    }
}

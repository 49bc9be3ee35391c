import java.util.function.IntUnaryOperator;

/** A program with all kinds of ways into and out of methods. Prints what it computes. */
public class Workload {
    interface Shape {
        double area();

        default String name() {
            return getClass().getSimpleName();
        }
    }

    static class Square implements Shape {
        private final double side;

        Square(double side) {
            this.side = checked(side);
        }

        public double area() {
            return side * side;
        }
    }

    static class Child extends Square {
        final long[][] table = new long[2][3];

        Child(int side) {
            super(side > 10 ? twice(side) : side);
        }

        Child(String text) {
            this(Integer.parseInt(text));
        }
    }

    static int initialized;

    static {
        initialized = twice(21);
    }

    static double checked(double side) {
        if (side < 0) {
            throw new IllegalArgumentException("side " + side);
        }
        return side;
    }

    static int twice(int number) {
        return 2 * number;
    }

    static int fibonacci(int number) {
        return number < 2 ? number : fibonacci(number - 1) + fibonacci(number - 2);
    }

    /** Loops to its first instruction. */
    static int countdown(int number) {
        while (true) {
            if (--number < 0) {
                return number;
            }
        }
    }

    static long wide(long a, double b, int c, long d) {
        return a + (long) b + c + d;
    }

    static void fall(int depth) {
        if (depth == 0) {
            throw new IllegalStateException("down");
        }
        fall(depth - 1);
    }

    static int withFinally(int number) {
        try {
            if (number == 0) {
                return 10;
            }
            fall(number);
            return 20;
        } catch (IllegalStateException e) {
            if (number == 2) {
                throw e;
            }
            return 30;
        } finally {
            twice(number);
        }
    }

    static String choose(String key) {
        switch (key) {
            case "one":
                return "1";
            case "two":
                return "2";
            default:
                return key.isEmpty() ? "nothing" : "many";
        }
    }

    static synchronized int locked(int[] numbers) {
        synchronized (numbers) {
            return numbers[3];
        }
    }

    /** Linked to nothing. */
    native long unlinked(int number, long[] numbers);

    static int apply(IntUnaryOperator operator, int number) {
        return operator.applyAsInt(number);
    }

    public static void main(String[] args) {
        System.out.println(initialized + " " + fibonacci(15) + " " + countdown(100));
        System.out.println(wide(1L, 2.5, 3, 4L));
        for (int number = 0; number < 3; number++) {
            try {
                System.out.println(withFinally(number));
            } catch (IllegalStateException e) {
                System.out.println(e.getMessage());
            }
        }
        for (String key : new String[] {"one", "two", "", "three"}) {
            System.out.println(choose(key));
        }
        for (int length = 3; length < 5; length++) {
            try {
                System.out.println(locked(new int[length]));
            } catch (ArrayIndexOutOfBoundsException e) {
                System.out.println("out of bounds");
            }
        }
        try {
            new Workload().unlinked(1, null);
        } catch (UnsatisfiedLinkError e) {
            System.out.println("unlinked");
        }
        int base = twice(4);
        System.out.println(apply(number -> number + base, 1));
        for (Shape shape : new Shape[] {new Square(3), new Child("4"), new Child(11)}) {
            System.out.println(shape.name() + " " + shape.area());
        }
        try {
            new Square(-1);
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        try {
            new Child(-1);
        } catch (IllegalArgumentException e) {
            System.out.println("no child");
        }
        try {
            new Child("x");
        } catch (NumberFormatException e) {
            System.out.println("no number");
        }
    }
}

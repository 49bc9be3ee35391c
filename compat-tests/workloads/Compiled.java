/** Runs a method until the agent has seen its code. */
final class Compiled {
    private static volatile long sum;

    private static long hot(int n) {
        long result = n;
        for (int i = 0; i < 100; i++) {
            result += small(i)
                    + result % 7;
            if (result % 1000 == 999) {
                sum++;
            }
        }
        return result;
    }

    private static int small(int i) {
        return i % 3 == 0
                ? i / 2
                : i + 1;
    }

    public static void main(String[] arguments) {
        Await.until("the compiler", () -> {
            for (int i = 0; i < 1000; i++) {
                sum += hot(i);
            }
            return Agent.call("compiled") == 1;
        });
    }
}

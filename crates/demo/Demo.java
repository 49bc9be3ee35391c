import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;

/** Several threads that do different things for as many seconds as the argument says. */
final class Demo {
    interface Job {
        long once(int round) throws InterruptedException;
    }

    private static volatile boolean over;
    private static long total;

    public static void main(String[] arguments) throws InterruptedException {
        int seconds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 3;
        Job[] jobs = {Demo::primes, Demo::matrix, Demo::words, Demo::sorting, Demo::rest};
        String[] names = {"primes", "matrix", "words", "sorting", "resting"};
        Thread[] threads = new Thread[jobs.length];
        for (int i = 0; i < jobs.length; i++) {
            Job job = jobs[i];
            threads[i] = new Thread(() -> repeat(job), names[i]);
            threads[i].start();
        }
        Thread.sleep(1000L * seconds);
        over = true;
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("demo program: " + jobs.length + " threads worked " + seconds + " s, total " + total);
    }

    private static void repeat(Job job) {
        long sum = 0;
        try {
            for (int round = 1; !over; round++) {
                sum += job.once(round);
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        synchronized (Demo.class) {
            total += sum;
        }
    }

    private static long primes(int round) {
        int found = 0;
        for (int n = 2; n < 20_000; n++) {
            found += isPrime(n) ? 1 : 0;
        }
        return found;
    }

    private static boolean isPrime(int n) {
        for (int divisor = 2; divisor * divisor <= n; divisor++) {
            if (n % divisor == 0) {
                return false;
            }
        }
        return true;
    }

    private static long matrix(int round) {
        int size = 60;
        double[][] a = filled(size, round), b = filled(size, round + 1), product = new double[size][size];
        for (int i = 0; i < size; i++) {
            for (int j = 0; j < size; j++) {
                product[i][j] = cell(a[i], b, j);
            }
        }
        return (long) product[size - 1][size - 1];
    }

    private static double[][] filled(int size, int seed) {
        double[][] matrix = new double[size][size];
        for (int i = 0; i < size; i++) {
            Arrays.fill(matrix[i], seed % 7 + i);
        }
        return matrix;
    }

    private static double cell(double[] row, double[][] matrix, int column) {
        double sum = 0;
        for (int k = 0; k < row.length; k++) {
            sum += row[k] * matrix[k][column];
        }
        return sum;
    }

    private static long words(int round) {
        Map<String, Integer> counts = new HashMap<>();
        for (int i = 0; i < 2_000; i++) {
            counts.merge("word" + i % 97, 1, Integer::sum);
        }
        return counts.size();
    }

    private static long sorting(int round) {
        int[] numbers = new Random(round).ints(10_000).toArray();
        Arrays.sort(numbers);
        return numbers[0];
    }

    private static long rest(int round) throws InterruptedException {
        Thread.sleep(10);
        return 1;
    }
}

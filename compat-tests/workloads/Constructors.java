import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Locale;
import java.util.concurrent.atomic.LongAdder;

/** Measures the cost of constructors: each of some threads makes a number of objects. */
public final class Constructors {
    static class Base {
        final int value;

        Base(int value) {
            this.value = value;
        }
    }

    /** Two constructors for each object, besides that of Object. */
    static final class Plain extends Base {
        Plain(int value) {
            super(value);
        }
    }

    /** One of the two calls a method before it calls that of its superclass. */
    static final class Calling extends Base {
        Calling(int value) {
            super(next(value));
        }

        static int next(int value) {
            return value + 1;
        }
    }

    static int plain(int objects) {
        int sum = 0;
        for (int i = 0; i < objects; i++) {
            sum += new Plain(i).value;
        }
        return sum;
    }

    static int calling(int objects) {
        int sum = 0;
        for (int i = 0; i < objects; i++) {
            sum += new Calling(i).value;
        }
        return sum;
    }

    interface Work {
        int run(int objects);
    }

    static volatile int sum;

    private static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();

    /** The processor time for one of the two constructors, which others on the machine do not make more. */
    static double measure(Work work, int objects, int threads) throws InterruptedException {
        LongAdder used = new LongAdder();
        Await.join(Await.startAll(threads, "makes-", i -> {
            long start = CLOCK.getCurrentThreadCpuTime();
            sum += work.run(objects);
            used.add(CLOCK.getCurrentThreadCpuTime() - start);
        }));
        return used.sum() / (2.0 * objects * threads);
    }

    public static void main(String[] arguments) throws InterruptedException {
        int objects = Integer.parseInt(arguments[0]);
        int threads = Integer.parseInt(arguments[1]);
        Work plain = Constructors::plain;
        Work calling = Constructors::calling;
        measure(plain, objects / 4, 1);
        measure(calling, objects / 40, 1);
        System.out.printf(Locale.ROOT, "plain_ns_per_op=%.1f%n", measure(plain, objects, threads));
        System.out.printf(Locale.ROOT, "calling_ns_per_op=%.1f%n", measure(calling, objects / 10, threads));
    }
}

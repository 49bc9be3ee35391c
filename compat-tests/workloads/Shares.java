import java.util.ArrayList;
import java.util.List;

/**
 * Allocates objects of three kinds at three sites: 70, 20 and 10 % of the MiB that the argument gives. Keeps every 64th
 * object until the end, and prints how many it has made and kept. With a second argument, it does so again and again
 * until the end of the input, and forgets what it has kept before.
 */
final class Shares {
    /* With the int, the sizes do not depend on the size of the header. */
    static final class Large {
        int z;
        long a, b, c, d, e, f, g, h, i, j, k, l, m, n, o;
    }

    static final class Medium {
        int z;
        long a, b, c, d, e;
    }

    static final int ARRAY = 4000;
    static final List<Object> KEPT = new ArrayList<>();
    static Object last;
    static volatile boolean ends;

    public static void main(String[] args) throws InterruptedException {
        long bytes = Long.parseLong(args[0]) << 20;
        // With headers, objects have 136, 56 and 4,016 bytes.
        long large = bytes * 7 / 10 / 136, medium = bytes * 2 / 10 / 56, arrays = bytes / 10 / (ARRAY + 16);
        ends = args.length == 1;
        if (!ends) {
            System.out.println("ready");
            Await.atEndOfInput(() -> ends = true);
        }
        do {
            KEPT.clear();
            for (int round = 0; round < 100; round++) {
                large(large / 100);
                medium(medium / 100);
                arrays(arrays / 100);
            }
        } while (!ends);
        expect("large", 136, large);
        expect("medium", 56, medium);
        expect("arrays", ARRAY + 16, arrays);
        // An event names an object that is probably no sample.
        synchronized (KEPT) {
            KEPT.wait(1);
        }
    }

    private static void expect(String site, int size, long count) {
        long made = count / 100 * 100, kept = count / 100 / 64 * 100;
        System.out.println("expect site=" + site + " size=" + size + " made=" + made + " kept=" + kept);
    }

    private static void keep(long index, Object object) {
        last = object;
        if (index % 64 == 63)
            KEPT.add(object);
    }

    static void large(long count) {
        for (long i = 0; i < count; i++)
            keep(i, new Large());
    }

    static void medium(long count) {
        for (long i = 0; i < count; i++)
            keep(i, new Medium());
    }

    static void arrays(long count) {
        for (long i = 0; i < count; i++)
            keep(i, new byte[ARRAY]);
    }
}

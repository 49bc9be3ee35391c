import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;

/**
 * Keeps collectors busy for so many milliseconds: four or more threads allocate, others come and go, classes
 * are loaded and forgotten, and garbage is collected on request. With the argument "dumps" the heap is
 * dumped all the while. At the end everything is dropped. With the property churn.virtual so many of those that come
 * and go are virtual threads; with churn.looks everything is dropped so often, and the agent told to look at the memory.
 * However long a collection takes to be delivered, there are churn.least rounds.
 */
final class Churn {
    private static final int THREADS = Integer.getInteger("churn.threads", 4), KEPT = 4_096;
    private static final int VIRTUAL_THREADS = Integer.getInteger("churn.virtual", 0);
    private static final int LEAST = Integer.getInteger("churn.least", 12);
    private static final int LOOKS = Integer.getInteger("churn.looks", 0);
    private static volatile boolean over;
    private static volatile Object published;

    private static final class Node {
        final Node next;
        final Object value;

        Node(Node next, Object value) {
            this.next = next;
            this.value = value;
        }
    }

    public static void main(String[] arguments) throws Exception {
        long began = System.nanoTime(), length = Long.parseLong(arguments[0]) * 1_000_000;
        boolean dumps = arguments.length > 1 && arguments[1].equals("dumps");
        Agent.call("load the library first");
        int rounds = 0;
        for (int look = 1; look < LOOKS; look++) {
            rounds += churn(began + length / LOOKS * look, 0, dumps);
            Agent.call("memory");
        }
        rounds += churn(began + length, LEAST - rounds, dumps);
        int collections = 0;
        while (dumps && collections < 10 && (left() > 0 || Agent.call("unloaded") < rounds)) {
            long brackets = Agent.call("brackets");
            System.gc();
            Await.until("the collection to be told", () -> Agent.call("brackets") > brackets);
            collections++;
        }
        System.out.println("expect rounds=" + rounds + " unloaded=" + Agent.call("unloaded")
                + " left=" + left() + " collections=" + collections + " dumps=" + Agent.call("dumps"));
    }

    /** Runs until this time, and for at least this many rounds; returns their number. */
    private static int churn(long end, int least, boolean dumps) throws Exception {
        byte[] victim = ClassFile.of("Unload$Victim");
        Throwable[] failure = new Throwable[1];
        over = false;
        Thread[] threads = Await.startAll(THREADS, "allocator-", seed -> {
            try {
                allocate(seed);
            } catch (Throwable e) {
                failure[0] = e;
            }
        });
        Thread dumper = new Thread(() -> {
            while (!over) {
                Agent.call("dump");
            }
        }, "dumper");
        if (dumps) {
            dumper.start();
        }
        int rounds = 0;
        while ((System.nanoTime() < end || rounds < least) && failure[0] == null) {
            Thread visitor = new Thread(() -> published = new int[100], "visitor");
            visitor.start();
            Thread[] virtual = virtualVisitors();
            ((Runnable) new ClassFile.Loader().define(victim).getDeclaredConstructor().newInstance()).run();
            if (rounds % 4 == 1 && !dumps) {
                Agent.call("run_gc");
            } else if (rounds % 4 == 3) {
                System.gc();
            }
            visitor.join();
            Await.join(virtual);
            Thread.sleep(20);
            rounds++;
        }
        over = true;
        Await.join(threads);
        if (failure[0] != null) {
            throw new IllegalStateException(failure[0]);
        }
        dumper.join();
        published = null;
        return rounds;
    }

    /** Some that wait and meet. Java 8, for which this is compiled, does not know them. */
    private static Thread[] virtualVisitors() throws ReflectiveOperationException {
        Thread[] threads = new Thread[VIRTUAL_THREADS];
        for (int t = 0; t < threads.length; t++) {
            Runnable body = () -> {
                LockSupport.parkNanos(1_000);
                synchronized (Churn.class) {
                    published = new int[100];
                }
                Thread.yield();
            };
            threads[t] = (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body);
        }
        return threads;
    }

    /** Returns the number of the threads' objects that the agent takes for alive. */
    private static long left() {
        return Agent.call("instances", Node.class);
    }

    /** Most objects die young; some are kept until others take their places. */
    private static void allocate(int seed) {
        Node[] kept = new Node[KEPT];
        int random = 12_345 + seed;
        while (!over) {
            random = random * 1_103_515_245 + 12_345;
            int place = (random >>> 8) % KEPT;
            Object value;
            switch ((random >>> 20) % 5) {
                case 0: value = new byte[(random >>> 4) % 4_000 & 0xfff]; break;
                case 1: value = "value " + random; break;
                case 2: value = Integer.valueOf(random); break;
                case 3: value = new Object[][] {{place}, {kept[place]}}[0]; break;
                default: value = Arrays.asList(place, "element").toArray();
            }
            kept[place] = new Node(place % 3 == 0 && kept[place] != null ? kept[place].next : null, value);
        }
        published = kept;
    }
}

import com.sun.net.httpserver.HttpServer;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * Threads of two or three kinds, each of which measures the CPU time that it uses. The first argument selects the first
 * kind, the second is the number of its threads, and the third the milliseconds of CPU time that the other thread
 * computes. Prints the milliseconds of the kinds and of the process.
 */
public class CpuShares {
    private static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
    private static final AtomicLongArray USED = new AtomicLongArray(4);
    private static volatile boolean isOver;
    private static volatile long sink;

    private interface Work {
        void run(int number) throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[1]);
        long millis = Long.parseLong(arguments[2]);
        switch (arguments[0]) {
            case "waiting": waitIn(count, millis); break;
            case "sleepers": beside(count, CpuShares::sleeper, millis); break;
            case "parked": park(count, millis); break;
            case "short": computeShortly(count, millis); break;
            case "deep": start(0, 0, number -> CpuShares.deep(count, millis)).join(); break;
            case "server": serve(count, millis); break;
            case "garbage": beside(count, CpuShares::garbage, millis); break;
            default: throw new IllegalArgumentException(arguments[0]);
        }
        long process = ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
            .getProcessCpuTime();
        System.out.println("expect first=" + USED.get(0) / 1_000_000 + " second=" + USED.get(1) / 1_000_000
            + " third=" + USED.get(2) / 1_000_000 + " process=" + process / 1_000_000);
    }

    private static Thread start(int kind, int number, Work work) {
        return Await.start((kind % 2 == 0 ? "first-" : "second-") + number, () -> {
            work.run(number);
            USED.addAndGet(kind, CLOCK.getCurrentThreadCpuTime());
        });
    }

    /** Runs the threads of the first kind as long as the other one computes. */
    private static void beside(int count, Work first, long millis) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) threads.add(start(0, i, first));
        start(1, 0, number -> burn(millis)).join();
        isOver = true;
        Await.join(threads);
    }

    private static void compute(long millis) {
        long end = CLOCK.getCurrentThreadCpuTime() + millis * 1_000_000, x = 0;
        while (CLOCK.getCurrentThreadCpuTime() < end) {
            for (int i = 0; i < 1000; i++) x += i * x + 7;
        }
        sink = x;
    }

    private static void burn(long millis) {
        compute(millis);
    }

    /** As many threads read from sockets as sleep. */
    private static void waitIn(int count, long millis) throws Exception {
        List<Thread> sleepers = new ArrayList<>();
        for (int i = 0; i < count; i++) sleepers.add(start(2, i, CpuShares::sleeper));
        read(count, millis);
        isOver = true;
        Await.join(sleepers);
    }

    /** Each thread reads a datagram every 3 ms. */
    private static void read(int count, long millis) throws Exception {
        InetAddress here = InetAddress.getLoopbackAddress();
        DatagramSocket[] sockets = new DatagramSocket[count];
        for (int i = 0; i < count; i++) sockets[i] = new DatagramSocket(0, here);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) threads.add(start(0, i, number -> reader(sockets[number])));
        Thread burning = start(1, 0, number -> burn(millis));
        try (DatagramSocket out = new DatagramSocket()) {
            byte[] data = new byte[10];
            do {
                if (!burning.isAlive()) data[0] = 1;
                for (DatagramSocket socket : sockets) {
                    out.send(new DatagramPacket(data, data.length, here, socket.getLocalPort()));
                }
                Thread.sleep(3);
            } while (data[0] == 0 || threads.stream().anyMatch(Thread::isAlive));
        }
    }

    private static void reader(DatagramSocket socket) throws Exception {
        byte[] data = new byte[10];
        do {
            socket.receive(new DatagramPacket(data, data.length));
        } while (data[0] == 0);
    }

    /** Sleeps 3 ms at a time, and computes for a moment. */
    private static void sleeper(int number) throws Exception {
        while (!isOver) {
            Thread.sleep(3);
            for (int i = 0; i < 20_000; i++) sink += i;
        }
    }

    /** An HTTP server with 8 workers, each of which waits for a while in each request, and its clients. */
    private static void serve(int clients, long millis) throws Exception {
        ExecutorService workers = Executors.newFixedThreadPool(8, work -> new Thread(() -> {
            worker(work);
            USED.addAndGet(0, CLOCK.getCurrentThreadCpuTime());
        }));
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(workers);
        server.createContext("/", exchange -> {
            LockSupport.parkNanos(5_000_000);
            compute(1);
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        });
        server.start();
        int port = server.getAddress().getPort();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < clients; i++) threads.add(start(1, i, number -> client(port, millis)));
        Await.join(threads);
        server.stop(0);
        workers.shutdown();
        workers.awaitTermination(1, TimeUnit.MINUTES);
    }

    private static void worker(Runnable work) {
        work.run();
    }

    private static void client(int port, long millis) throws Exception {
        for (int i = 0; i < millis; i++) {
            try (InputStream in = new URL("http://127.0.0.1:" + port + "/" + i).openConnection().getInputStream()) {
                while (in.read() >= 0) {
                    // the contents do not matter
                }
            }
        }
    }

    private static void garbage(int number) {
        Object[] kept = new Object[1 << 16];
        for (int i = 0; !isOver; i++) kept[i & 0xffff] = new byte[100 + (i & 0xff)];
        sink = kept.length;
    }

    /** The same work in many short threads, and in one. Their starts and ends do not count. */
    private static void computeShortly(int count, long millis) throws Exception {
        start(3, 0, number -> USED.addAndGet(1, inLong(count * millis))).join();
        for (int i = 0; i < count; i++) start(2, i, number -> USED.addAndGet(0, inShort(millis))).join();
    }

    private static long inShort(long millis) {
        return measured(millis);
    }

    private static long inLong(long millis) {
        return measured(millis);
    }

    private static long measured(long millis) {
        long before = CLOCK.getCurrentThreadCpuTime();
        compute(millis);
        return CLOCK.getCurrentThreadCpuTime() - before;
    }

    private static void deep(int depth, long millis) {
        if (depth > 1) {
            deep(depth - 1, millis);
        } else {
            compute(millis);
        }
    }

    /** Prints how often the sampling thread has waited meanwhile, too. */
    private static void park(int count, long millis) throws Exception {
        CountDownLatch begun = new CountDownLatch(count);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) threads.add(start(0, i, number -> parked(begun)));
        begun.await();
        long[] before = sampler();
        long start = System.nanoTime();
        start(1, 0, number -> burn(millis)).join();
        long[] after = sampler();
        System.out.println("expect waits=" + (after[0] - before[0]) + " sampler_us=" + (after[1] - before[1]) / 1000
            + " ms=" + (System.nanoTime() - start) / 1_000_000);
        isOver = true;
        threads.forEach(LockSupport::unpark);
        Await.join(threads);
    }

    private static void parked(CountDownLatch begun) {
        begun.countDown();
        while (!isOver) LockSupport.park();
    }

    /** The number of waits and the nanoseconds of CPU time of the sampling thread; zeros if there is none. */
    private static long[] sampler() throws Exception {
        try (Stream<Path> tasks = Files.list(Paths.get("/proc/self/task"))) {
            for (Path task : (Iterable<Path>) tasks::iterator) {
                if (name(task).startsWith("HPROF CPU")) {
                    long waits = Files.readAllLines(task.resolve("status")).stream()
                        .filter(line -> line.startsWith("voluntary_ctxt_switches"))
                        .mapToLong(line -> Long.parseLong(line.split("\\s+")[1])).sum();
                    String time = new String(Files.readAllBytes(task.resolve("schedstat"))).split(" ")[0];
                    return new long[] {waits, Long.parseLong(time)};
                }
            }
        }
        return new long[2];
    }

    /** The name of a thread; empty if it has ended. */
    private static String name(Path task) throws Exception {
        try {
            return new String(Files.readAllBytes(task.resolve("comm")));
        } catch (NoSuchFileException e) {
            return "";
        }
    }
}

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/** Virtual threads that compute, and leave their carriers all the time: at a different place of a round each time. */
final class VirtualProfiled {
    private static void compute(long millis) {
        long end = System.nanoTime() + millis * 1_000_000;
        for (int turn = 0; System.nanoTime() < end;) {
            Profiled.seventy();
            leave(turn++);
            Profiled.twenty();
            leave(turn++);
            Profiled.ten();
            leave(turn++);
        }
    }

    private static void leave(int turn) {
        if (turn % 64 == 0) {
            LockSupport.parkNanos(100_000);
        } else if (turn % 4 == 0) {
            Thread.yield();
        }
    }

    /** Milliseconds of processor time that the process has used. */
    private static long consumed() throws Exception {
        String stat = new String(Files.readAllBytes(Path.of("/proc/self/stat")));
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) * 10;
    }

    /** The arguments are the numbers of threads and of milliseconds. */
    public static void main(String[] arguments) throws Exception {
        long millis = Long.parseLong(arguments[1]);
        long before = consumed();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(arguments[0]); i++) {
            threads.add(Thread.ofVirtual().name("computing-" + i).start(() -> compute(millis)));
        }
        Await.join(threads);
        long after = consumed();
        System.out.println("expect meanwhile=" + (after - before) + " consumed=" + after);
        System.out.println("done");
    }
}

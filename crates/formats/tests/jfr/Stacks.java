import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;
import jdk.jfr.Configuration;
import jdk.jfr.Recording;
import jdk.jfr.consumer.*;

/** Prints the samples in a recording as the JDK reads them, equal ones as one: their number and the sum of their amounts. */
public class Stacks {
    static String kind(RecordedEvent event) {
        switch (event.getEventType().getName()) {
            case "jdk.ExecutionSample": return "cpu";
            case "jdk.CPUTimeSample": return "cpu-time samplingPeriod";
            case "jdk.NativeMethodSample": return "native";
            case "profiler.WallClockSample": return "wall samples";
            case "jdk.ObjectAllocationSample": return "allocated weight";
            case "jdk.ObjectAllocationInNewTLAB": return "allocated tlabSize";
            case "jdk.ObjectAllocationOutsideTLAB": return "allocated allocationSize";
            case "profiler.LiveObject": return "live allocationSize";
            case "jdk.JavaMonitorEnter": return "monitor duration monitorClass";
            case "jdk.ThreadPark": return "park duration parkedClass";
            default: return null;
        }
    }

    static volatile Object last;

    /** Makes a recording of threads that compute, allocate, and wait for each other. */
    static void record(Path path) throws Exception {
        try (Recording recording = new Recording(Configuration.getConfiguration("profile"))) {
            recording.enable("jdk.JavaMonitorEnter").withoutThreshold().withStackTrace();
            recording.enable("jdk.ThreadPark").withoutThreshold().withStackTrace();
            recording.start();
            ReentrantLock lock = new ReentrantLock();
            Runnable waits = () -> {
                for (int i = 0; i < 20; i++) {
                    synchronized (lock) {
                        sleep();
                    }
                    lock.lock();
                    sleep();
                    lock.unlock();
                }
            };
            Thread[] threads = {new Thread(waits, "first"), new Thread(waits, "second")};
            for (Thread thread : threads) thread.start();
            for (int i = 0; i < 1_000_000; i++) last = new int[1000];
            for (Thread thread : threads) thread.join();
            recording.stop();
            recording.dump(path);
        }
    }

    static void sleep() {
        try {
            Thread.sleep(5);
        } catch (InterruptedException e) {
            throw new RuntimeException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 1 && args[1].equals("start")) {
            for (RecordedEvent event : RecordingFile.readAllEvents(Path.of(args[0]))) {
                if (!event.getEventType().getName().equals("jdk.JVMInformation")) continue;
                System.out.println(event.getInstant("jvmStartTime").toEpochMilli());
            }
            return;
        }
        if (args.length > 1) {
            record(Path.of(args[0]));
            return;
        }
        Map<String, long[]> sums = new TreeMap<>();
        try (RecordingFile file = new RecordingFile(Path.of(args[0]))) {
            while (file.hasMoreEvents()) {
                RecordedEvent event = file.readEvent();
                String kind = kind(event);
                if (kind == null) continue;
                String[] words = kind.split(" ");
                StringBuilder line = new StringBuilder(words[0]);
                String thread = event.hasField("sampledThread") ? "sampledThread" : "eventThread";
                RecordedThread of = event.getThread(thread);
                String name = of == null ? null : of.getJavaName() == null ? of.getOSName() : of.getJavaName();
                line.append('|').append(name == null ? "" : name).append('|');
                String classField = words.length > 2 ? words[2] : event.hasField("objectClass") ? "objectClass" : null;
                RecordedClass type = classField == null ? null : event.getClass(classField);
                if (type != null) line.append(type.getName().replace('/', '.'));
                line.append('|');
                RecordedStackTrace stack = event.getStackTrace();
                if (stack != null) {
                    for (RecordedFrame frame : stack.getFrames()) {
                        RecordedMethod method = frame.getMethod();
                        String number = "Native".equals(frame.getType()) ? "native" : "" + Math.max(0, frame.getLineNumber());
                        line.append(method.getType().getName()).append('.').append(method.getName()).append(':').append(number).append(';');
                    }
                    if (stack.isTruncated()) line.append("[truncated]");
                }
                long amount = 0;
                if (words.length > 1)
                    amount = words[1].equals("duration") || words[1].equals("samplingPeriod")
                        ? event.getDuration(words[1]).toNanos() : event.getLong(words[1]);
                long[] sum = sums.computeIfAbsent(line.toString(), key -> new long[2]);
                sum[0] += kind.equals("wall samples") ? amount : 1;
                sum[1] += amount;
            }
        }
        sums.forEach((line, sum) -> System.out.println(line + "|" + sum[0] + "|" + sum[1]));
    }
}

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** Has the agent take traces in many situations, which the arguments choose. */
final class Traces {
    private static volatile long work;

    public static void main(String[] arguments) throws Exception {
        for (String situation : arguments) {
            run(situation);
        }
    }

    private static void run(String situation) throws Exception {
        switch (situation) {
            case "hot":
                for (int i = 0; i < 200_000; i++) {
                    work += inlined(i);
                }
                work += inlined(-1);
                break;
            case "running": running(); break;
            case "rewritten": rewritten(); break;
            case "redefined": redefined(); break;
            case "versions":
                versions("enable 56", "disable 56", "enable 4", "enable 56", "disable 4", "disable 56", "enable 4");
                Agent.call("disable 4");
                break;
            case "inside":
                Agent.call("inside", Traces.class);
                Agent.call("enable 1+4");
                entered();
                made();
                Agent.call("disable 1+4");
                break;
            default: throw new IllegalArgumentException(situation);
        }
    }

    private static void outer(int i) {
        new Traces().middle("text", i);
    }

    private void middle(String text, long i) {
        inner(new int[] {(int) i});
    }

    private static synchronized void inner(int[] numbers) {
        Agent.call("self"); print(new Throwable());
    }

    private static long inlined(int i) {
        return i + deeper(i);
    }

    private static long deeper(int i) {
        if (i < 0) {
            Agent.call("self"); print(new Throwable());
        }
        return i;
    }

    private static void entered() {
        work++;
    }

    private static final class Made {
        final int number = 1;
    }

    private static final class Lazy {
        static void touch() {
            work++;
        }
    }

    private static void made() {
        work += new Made().number;
    }

    /** Runs in a handler of an agent. */
    static void inside() {
        Agent.call("self"); print(new Throwable());
        Lazy.touch();
    }

    /** The stack as Java sees it, but for what the shim has put there. */
    private static void print(Throwable here) {
        System.out.println("expect trace=1");
        for (StackTraceElement frame : here.getStackTrace()) {
            if (frame.getClassName().equals("jvmpi.Tracker")) {
                continue;
            }
            System.out.println("expect method=\"" + frame.getClassName() + "." + frame.getMethodName()
                    + "\" line=" + frame.getLineNumber() + " source=\"" + frame.getFileName() + "\"");
        }
    }

    private static final class Changing {
        private static volatile boolean begun, over;

        static void enter() {
            begun = true;
            while (!over) {
                leave(20);
            }
        }

        private static long leave(int calls) {
            return calls == 0 ? work++ : leave(calls - 1) + 1;
        }
    }

    /** A thread continues while the agent takes its traces, and its code changes many times meanwhile. */
    private static void running() throws InterruptedException {
        final int changes = 60;
        Thread running = new Thread(Changing::enter, "running");
        running.start();
        Await.until("the thread to be in its code", () -> Changing.begun);
        Thread changing = new Thread(() -> {
            for (int i = 0; i < changes; i++) {
                Agent.call("enable 2");
                Agent.call("disable 2");
            }
        });
        changing.start();
        do {
            Agent.call("running 100 running");
        } while (changing.isAlive());
        Changing.over = true;
        running.join();
        changing.join();
        System.out.println("expect changes=" + changes);
    }

    private static final class Shifted {
        static void run() {
            Agent.call("self"); print(new Throwable());
        }
    }

    /** Traces before and after the class is rewritten, while it runs. */
    private static void rewritten() {
        outer(1);
        Agent.call("enable 1+3");
        outer(1);
        Agent.call("enable 56");
        outer(1);
        Agent.call("disable 1+3+56");
        outer(1);
    }

    /** A trace with a frame of each version that the class gets. */
    private static void versions(String... switches) {
        // The code that reports these moves the following code by several lines.
        Object[] made = {new int[1], new int[2], new int[3], new int[4], new int[5], new int[6], new int[7]};
        if (switches.length == 0) {
            Agent.call("self"); print(new Throwable());
        } else {
            Agent.call(switches[0]);
            versions(Arrays.copyOfRange(switches, 1, switches.length));
        }
        work += made.length;
    }

    /** Traces before and after somebody has given a class other lines. */
    private static void redefined() throws Exception {
        Shifted.run();
        byte[] file = ClassFile.of(Shifted.class.getName());
        shiftLines(file, 100);
        Agent.call("redefine", new Object[] {Shifted.class, file});
        Shifted.run();
    }

    /** Moves all lines of a class file. */
    private static void shiftLines(byte[] file, int by) {
        ByteBuffer data = ByteBuffer.wrap(file);
        int at = 10, table = 0;
        for (int i = 1; i < data.getShort(8); i++) {
            int tag = data.get(at);
            int length = tag == 1 ? 3 + data.getShort(at + 1) : tag == 7 || tag == 8 ? 3 : 5;
            if (new String(file, at, length, ISO_8859_1).endsWith("LineNumberTable")) {
                table = i;
            }
            at += length;
        }
        for (; at < file.length - 8; at++) {
            int count = data.getShort(at + 6);
            if (data.getShort(at) == table && data.getInt(at + 2) == 2 + 4 * count) {
                for (int i = 0; i < count; i++) {
                    int line = at + 10 + 4 * i;
                    data.putShort(line, (short) (data.getShort(line) + by));
                }
            }
        }
    }
}

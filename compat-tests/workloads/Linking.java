import java.io.IOException;
import java.util.concurrent.CyclicBarrier;

/**
 * One thread links classes, the last one first, while another switches events, for which the VM reads
 * them again, the first one first: so they meet.
 */
final class Linking {
    /** JDK 11 looks at all classes for each that it reads again: 1.6 s of processor time in a round. */
    private static final int ROUNDS = System.getProperty("java.specification.version").equals("11") ? 1 : 4;
    private static final int CLASSES = 300, READS = 1500;

    /** `static int f()`, which reads a static field again and again. */
    private static byte[] file(String name) throws IOException {
        FreshClass file = new FreshClass(name, 52);
        int field = file.field("value", "I");
        byte[] code = new byte[4 * READS + 4];
        for (int at = 0; at < code.length; at += 4) {
            // getstatic and pop, at last ireturn
            System.arraycopy(FreshClass.bytes(0xb2, 0, field, at < 4 * READS ? 0x57 : 0xac), 0, code, at, 4);
        }
        file.method("f", "()I", 1, 0, code);
        return file.file();
    }

    private static Class<?>[] defineAll() throws IOException {
        ClassFile.Loader loader = new ClassFile.Loader();
        Class<?>[] classes = new Class<?>[CLASSES];
        for (int i = 0; i < CLASSES; i++) {
            classes[i] = loader.define(file("Made" + i));
        }
        return classes;
    }

    public static void main(String[] arguments) throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(2);
        Thread switching = Await.start("switching", () -> {
            for (int round = 0; round < ROUNDS; round++) {
                barrier.await();
                Agent.call("enable");
                barrier.await();
                barrier.await();
                Agent.call("disable");
            }
        });
        long told = 0;
        for (int round = 0; round < ROUNDS; round++) {
            Class<?>[] classes = defineAll();
            barrier.await();
            for (int i = CLASSES - 1; i >= 0; i--) {
                Class.forName(classes[i].getName(), true, classes[i].getClassLoader());
            }
            barrier.await();
            long before = Agent.call("events");
            for (Class<?> type : classes) {
                type.getMethod("f").invoke(null);
            }
            told += Agent.call("events") - before;
            barrier.await();
            classes = null;
            System.gc();
        }
        switching.join();
        System.out.println("expect calls=" + ROUNDS * CLASSES + " told=" + told);
    }
}

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
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
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xcafebabe);
        out.writeInt(52);
        out.writeShort(12);
        for (String text : new String[] {name, "java/lang/Object", "Code", "value", "I", "f", "()I"}) {
            out.writeByte(1);
            out.writeUTF(text);
        }
        // 8 and 9 are classes, 10 a name and type, 11 the field.
        out.write(new byte[] {7, 0, 1, 7, 0, 2, 12, 0, 4, 0, 5, 9, 0, 8, 0, 10});
        int length = 4 * READS + 4;
        for (int value : new int[] {0x0021, 8, 9, 0, 1, 0x0009, 4, 5, 0, 1, 0x0009, 6, 7, 1, 3}) {
            out.writeShort(value);
        }
        out.writeInt(12 + length);
        out.writeInt(0x00010000);
        out.writeInt(length);
        for (int read = 0; read < READS; read++) {
            out.write(new byte[] {(byte) 0xb2, 0, 11, 0x57});
        }
        out.write(new byte[] {(byte) 0xb2, 0, 11, (byte) 0xac});
        out.writeInt(0);
        out.writeShort(0);
        return bytes.toByteArray();
    }

    private static final class Loader extends ClassLoader {
        Class<?>[] defineAll() throws IOException {
            Class<?>[] classes = new Class<?>[CLASSES];
            for (int i = 0; i < CLASSES; i++) {
                byte[] file = file("Made" + i);
                classes[i] = defineClass("Made" + i, file, 0, file.length);
            }
            return classes;
        }
    }

    public static void main(String[] arguments) throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(2);
        Thread switching = new Thread(() -> {
            try {
                for (int round = 0; round < ROUNDS; round++) {
                    barrier.await();
                    Agent.call("enable");
                    barrier.await();
                    barrier.await();
                    Agent.call("disable");
                }
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        switching.start();
        long told = 0;
        for (int round = 0; round < ROUNDS; round++) {
            Class<?>[] classes = new Loader().defineAll();
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

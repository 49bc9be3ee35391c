import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.concurrent.Callable;

/** Has the methods of a class reported and not reported in turn that has thousands of constants that are NaN. */
final class NotANumber {
    /** Of these and as many again there is room for two times. */
    private static final int NANS = 9_000, ROUNDS = 2;

    /** A class with such constants, and with a method {@code small} that returns 5. */
    static byte[] file() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xcafebabe);
        out.writeShort(0);
        out.writeShort(49);
        out.writeShort(8 + 2 * NANS);
        for (String text : new String[] {"Made", "java/lang/Object", "Code", "small", "()I"}) {
            out.writeByte(1);
            out.writeUTF(text);
        }
        out.write(new byte[] {7, 0, 1, 7, 0, 2});
        for (int i = 0; i < NANS; i++) {
            out.writeByte(6);
            out.writeLong(0x7ff8_0000_0000_0000L + i);
        }
        for (int value : new int[] {0x0021, 6, 7, 0, 0, 1, 0x0009, 4, 5, 1, 3}) {
            out.writeShort(value);
        }
        out.writeInt(14);
        out.writeShort(1);
        out.writeShort(0);
        out.writeInt(2);
        out.write(new byte[] {0x08, (byte) 0xac});
        out.writeShort(0);
        out.writeShort(0);
        out.writeShort(0);
        return bytes.toByteArray();
    }

    static final class Loader extends ClassLoader {
        Class<?> define(byte[] file) {
            return defineClass("Made", file, 0, file.length);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Class<?> made = new Loader().define(file());
        Callable<Object> small = () -> made.getMethod("small").invoke(null);
        int sum = 0;
        for (int i = 0; i < ROUNDS; i++) {
            sum += (int) small.call();
            Agent.call("enable");
            sum += (int) small.call();
            Agent.call("disable");
        }
        System.out.println("expect rounds=" + ROUNDS + " sum=" + sum);
    }
}

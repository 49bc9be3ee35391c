import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;

/** A method of the greatest possible length, and a short one. */
final class Large {
    static byte[] file() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xcafebabe);
        out.writeShort(0);
        out.writeShort(49);
        out.writeShort(9);
        for (String text : new String[] {"Made", "java/lang/Object", "Code", "large", "small", "()I"}) {
            out.writeByte(1);
            out.writeUTF(text);
        }
        out.write(new byte[] {7, 0, 1, 7, 0, 2});
        for (int value : new int[] {0x0021, 7, 8, 0, 0, 2}) {
            out.writeShort(value);
        }
        method(out, 4, 65_535);
        method(out, 5, 20);
        out.writeShort(0);
        return bytes.toByteArray();
    }

    /** Does nothing, and returns 5. */
    private static void method(DataOutputStream out, int name, int length) throws IOException {
        out.writeShort(0x0009);
        out.writeShort(name);
        out.writeShort(6);
        out.writeShort(1);
        out.writeShort(3);
        out.writeInt(12 + length);
        out.writeShort(1);
        out.writeShort(0);
        out.writeInt(length);
        out.write(new byte[length - 2]);
        out.writeByte(0x08);
        out.writeByte(0xac);
        out.writeShort(0);
        out.writeShort(0);
    }

    static final class Loader extends ClassLoader {
        Class<?> define(byte[] file) {
            return defineClass("Made", file, 0, file.length);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Class<?> made = new Loader().define(file());
        for (String name : new String[] {"large", "small", "small"}) {
            System.out.println("expect value=" + made.getMethod(name).invoke(null));
        }
    }
}

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;

/** Makes the file of a class with static members. */
final class FreshClass {
    /** The file from the constants on, up to the fields and the methods. */
    private final ByteArrayOutputStream[] parts =
        {new ByteArrayOutputStream(), new ByteArrayOutputStream(), new ByteArrayOutputStream()};
    private final DataOutputStream constants = new DataOutputStream(parts[0]);
    private final DataOutputStream fields = new DataOutputStream(parts[1]), methods = new DataOutputStream(parts[2]);
    private final int version, code;
    private int constantCount = 1, fieldCount, methodCount;
    /** The constants of this class and of Object. */
    final int self, object;

    FreshClass(String name, int version) throws IOException {
        this.version = version;
        self = constant(7, text(name));
        object = constant(7, text("java/lang/Object"));
        code = text("Code");
    }

    static byte[] bytes(int... values) {
        byte[] bytes = new byte[values.length];
        for (int i = 0; i < values.length; i++) {
            bytes[i] = (byte) values[i];
        }
        return bytes;
    }

    private static void write(DataOutputStream out, int... shorts) throws IOException {
        for (int value : shorts) {
            out.writeShort(value);
        }
    }

    /** Adds a text and returns its number. */
    int text(String text) throws IOException {
        constants.writeByte(1);
        constants.writeUTF(text);
        return constantCount++;
    }

    /** Adds a constant and returns its number. */
    int constant(int tag, int... numbers) throws IOException {
        constants.writeByte(tag);
        write(constants, numbers);
        return constantCount++;
    }

    /** Adds a constant of type double. */
    void number(long bits) throws IOException {
        constants.writeByte(6);
        constants.writeLong(bits);
        constantCount += 2;
    }

    /** Adds a field and returns the number of the constant that names it. */
    int field(String name, String type) throws IOException {
        int nameNumber = text(name), typeNumber = text(type);
        write(fields, 0x0009, nameNumber, typeNumber, 0);
        fieldCount++;
        return constant(9, self, constant(12, nameNumber, typeNumber));
    }

    /** Adds a method, whose code needs these frames. */
    void method(String name, String type, int stack, int locals, byte[] bytes, int... frames) throws IOException {
        write(methods, 0x0009, text(name), text(type), 1, code);
        methods.writeInt(12 + bytes.length + (frames.length > 0 ? 6 + frames.length : 0));
        write(methods, stack, locals);
        methods.writeInt(bytes.length);
        methods.write(bytes);
        write(methods, 0, frames.length > 0 ? 1 : 0);
        if (frames.length > 0) {
            write(methods, text("StackMapTable"));
            methods.writeInt(frames.length);
            methods.write(bytes(frames));
        }
        methodCount++;
    }

    byte[] file() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xcafebabe);
        write(out, 0, version, constantCount);
        parts[0].writeTo(out);
        // public and super; no interfaces
        write(out, 0x0021, self, object, 0, fieldCount);
        parts[1].writeTo(out);
        write(out, methodCount);
        parts[2].writeTo(out);
        write(out, 0);
        return bytes.toByteArray();
    }
}

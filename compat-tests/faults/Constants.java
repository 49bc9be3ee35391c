import java.io.*;

/** A class with 65,400 constants and a hundred NaNs. */
final class Constants extends ClassLoader {
    private static native void retransform(Class<?> full);

    public static void main(String[] arguments) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream file = new DataOutputStream(bytes);
        for (int word : new int[] {0xCAFEBABE, 52}) file.writeInt(word);
        file.writeShort(65_505);
        for (String name : new String[] {"Full", "java/lang/Object"}) {
            file.writeByte(1);
            file.writeUTF(name);
        }
        for (int name = 1; name <= 2; name++) {
            file.writeByte(7);
            file.writeShort(name);
        }
        for (int i = 0; i < 65_500; i++) {
            file.writeByte(i < 65_400 ? 3 : 4);
            file.writeInt(0x7FC00000 + i);
        }
        for (int item : new int[] {0x20, 3, 4, 0, 0, 0, 0}) file.writeShort(item);
        retransform(new Constants().defineClass("Full", bytes.toByteArray(), 0, bytes.size()));
    }
}

import java.io.DataInputStream;
import java.io.IOException;

/** Reads class files of the programs. */
final class ClassFile {
    static byte[] of(String name) {
        try (DataInputStream in = new DataInputStream(ClassFile.class.getResourceAsStream(name + ".class"))) {
            byte[] file = new byte[in.available()];
            in.readFully(file);
            return file;
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}

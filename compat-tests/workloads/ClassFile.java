import java.io.DataInputStream;
import java.io.IOException;
import java.util.Arrays;

/** Reads class files of the programs, and defines classes in a loader of their own. */
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

    static class Loader extends ClassLoader {
        private final String[] own;

        /** Its parent is asked for all but these classes. It is not parallel capable. */
        Loader(String... own) {
            this.own = own;
        }

        Loader(ClassLoader parent) {
            super(parent);
            own = new String[0];
        }

        Class<?> define(byte[] file) {
            return defineClass(null, file, 0, file.length);
        }

        /** Loads one of its own classes. */
        Class<?> loadOwn(String name) throws ClassNotFoundException {
            return define(of(name));
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                Class<?> known = findLoadedClass(name);
                if (known != null || !Arrays.asList(own).contains(name)) {
                    return known != null ? known : super.loadClass(name, resolve);
                }
                return loadOwn(name);
            }
        }
    }
}

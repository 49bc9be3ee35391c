import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/**
 * Links classes and prints the outcome for each: {@code Link CORPUS REWRITTEN before|after}, to be
 * run with {@code -Xverify:all}. Two runs are to be compared; in one JVM the first would influence
 * the second by loader constraints. Classes of java.* are left out: no loader may define them.
 */
class Link extends ClassLoader {
    private final Map<String, Path> originals;
    private final Map<String, byte[]> rewritten;

    private Link(Map<String, Path> originals, Map<String, byte[]> rewritten) {
        this.originals = originals;
        this.rewritten = rewritten;
    }

    public static void main(String[] args) throws IOException {
        Map<String, Path> originals = Corpus.originals(Path.of(args[0]));
        Map<String, byte[]> rewritten = new TreeMap<>();
        Corpus.rewritten(Path.of(args[1]), (name, bytes) -> {
            if (isOurs(name)) {
                rewritten.put(name, bytes);
            }
        });
        Link loader = new Link(originals, args[2].equals("after") ? rewritten : Map.of());
        StringBuilder outcomes = new StringBuilder();
        for (String name : rewritten.keySet()) {
            outcomes.append(name).append(' ').append(loader.outcome(name)).append('\n');
        }
        System.out.print(outcomes);
    }

    private static boolean isOurs(String name) {
        return !name.startsWith("java/") && !name.endsWith("module-info");
    }

    private String outcome(String name) {
        try {
            // Looking for constructors links the class, which verifies it.
            loadClass(name.replace('/', '.')).getDeclaredConstructors();
            return "linked";
        } catch (VerifyError | ClassFormatError e) {
            // What follows the first line says where and depends on the code's layout.
            return e.toString().lines().findFirst().get();
        } catch (Throwable e) {
            return e.getClass().getName();
        }
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            if (loaded != null) {
                return loaded;
            }
            String path = name.replace('.', '/');
            if (!isOurs(path) || !originals.containsKey(path)) {
                return super.loadClass(name, resolve);
            }
            byte[] bytes = rewritten.get(path);
            try {
                bytes = bytes == null ? Files.readAllBytes(originals.get(path)) : bytes;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return defineClass(name, bytes, 0, bytes.length);
        }
    }
}

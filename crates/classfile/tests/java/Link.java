import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/**
 * Links classes and prints the outcome for each: {@code Link CORPUS CLASSES}, to be run with
 * {@code -Xverify:all}. What the classes need besides comes from the corpus. Outcomes before and
 * after rewriting are compared between two runs: in one JVM the first loader would influence the
 * second by loader constraints. Classes of java.* are left out: no loader may define them. So are
 * those of javax.accessibility: java.awt's methods name them, and when it loads them is a matter of chance.
 */
class Link extends ClassLoader {
    private final Map<String, Path> corpus;
    private final Map<String, byte[]> classes = new TreeMap<>();

    private Link(Map<String, Path> corpus) {
        this.corpus = corpus;
    }

    public static void main(String[] args) throws IOException {
        Link loader = new Link(Corpus.originals(Path.of(args[0])));
        Corpus.classes(Path.of(args[1]), (name, bytes) -> {
            if (isOurs(name)) {
                loader.classes.put(name, bytes);
            }
        });
        StringBuilder outcomes = new StringBuilder();
        for (String name : loader.classes.keySet()) {
            outcomes.append(name).append(' ').append(loader.outcome(name)).append('\n');
        }
        System.out.print(outcomes);
    }

    private static boolean isOurs(String name) {
        return !name.startsWith("java/") && !name.startsWith("javax/accessibility/") && !name.endsWith("module-info");
    }

    private String outcome(String name) {
        try {
            // Looking for constructors links the class, which verifies it.
            loadClass(name.replace('/', '.')).getDeclaredConstructors();
            return "linked";
        } catch (VerifyError | ClassFormatError e) {
            // Which method of several bad ones is found first depends on their order in memory;
            // what follows the first line says where in the code.
            return e.toString().lines().findFirst().get().replaceFirst("method: \\S+ \\S+ \\S+", "");
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
            if (!isOurs(path) || !corpus.containsKey(path)) {
                return super.loadClass(name, resolve);
            }
            byte[] bytes = classes.get(path);
            try {
                bytes = bytes == null ? Files.readAllBytes(corpus.get(path)) : bytes;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return defineClass(name, bytes, 0, bytes.length);
        }
    }
}

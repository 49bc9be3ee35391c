import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;

/** What the tests hand over: a directory of class files, and files with changed ones. */
class Corpus {
    interface Consumer {
        void accept(String name, byte[] bytes) throws IOException;
    }

    /** Class files by internal name, from a directory with a directory for each module. */
    static Map<String, Path> originals(Path corpus) throws IOException {
        Map<String, Path> originals = new HashMap<>();
        try (Stream<Path> paths = Files.walk(corpus)) {
            paths.filter(path -> path.toString().endsWith(".class")).forEach(path -> {
                Path relative = corpus.relativize(path);
                String name = relative.subpath(1, relative.getNameCount()).toString();
                originals.put(name.substring(0, name.length() - ".class".length()), path);
            });
        }
        return originals;
    }

    /** A sequence of names and lengths with bytes. */
    static void classes(Path file, Consumer consumer) throws IOException {
        try (DataInputStream in =
                new DataInputStream(new BufferedInputStream(Files.newInputStream(file)))) {
            for (int left = in.readInt(); left > 0; left--) {
                String name = in.readUTF();
                byte[] bytes = new byte[in.readInt()];
                in.readFully(bytes);
                consumer.accept(name, bytes);
            }
        }
    }
}

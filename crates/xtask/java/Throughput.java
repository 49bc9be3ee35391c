import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Measures how fast ASM rewrites the classes of {@code java.base} in the way that AsmAgent rewrites loaded classes. */
public final class Throughput {
    private static final Path MODULE = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules/java.base");

    /** Extracts the class files into the folder if needed, rewrites them in several rounds, and prints the best one. */
    public static void main(String[] arguments) throws IOException {
        Path folder = Paths.get(arguments[0]);
        int rounds = Integer.parseInt(arguments[1]);
        List<byte[]> files = unpack(folder);
        double megabytes = files.stream().mapToLong(file -> file.length).sum() / 1e6;
        double best = 0;
        for (int round = 0; round < rounds; round++) {
            long begin = System.nanoTime();
            for (byte[] file : files) {
                AsmAgent.rewrite(file);
            }
            best = Math.max(best, megabytes * 1e9 / (System.nanoTime() - begin));
        }
        System.out.println("classes=" + files.size() + " megabytes=" + megabytes + " mb_per_second=" + best);
    }

    private static List<byte[]> unpack(Path folder) throws IOException {
        List<byte[]> files = new ArrayList<>();
        try (Stream<Path> paths = Files.walk(MODULE)) {
            for (Path path : paths.filter(path -> path.toString().endsWith(".class")).collect(Collectors.toList())) {
                byte[] file = Files.readAllBytes(path);
                Path copy = folder.resolve(MODULE.relativize(path).toString());
                if (!Files.exists(copy)) {
                    Files.createDirectories(copy.getParent());
                    Files.write(copy, file);
                }
                files.add(file);
            }
        }
        return files;
    }
}

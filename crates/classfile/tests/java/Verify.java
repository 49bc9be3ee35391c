import java.io.IOException;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.constant.ClassDesc;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Verifies classes before and after rewriting with java.lang.classfile (JDK 24 and later) and
 * fails if what is found differs: {@code Verify CORPUS REWRITTEN}. Works for java.lang too, which
 * no loader of an application could define.
 */
class Verify {
    public static void main(String[] args) throws IOException {
        Map<String, Path> originals = Corpus.originals(Path.of(args[0]));
        ClassFile verifier = ClassFile.of(ClassFile.ClassHierarchyResolverOption.of(
                ClassHierarchyResolver.ofResourceParsing((ClassDesc type) -> open(originals, type))
                        .orElse(ClassHierarchyResolver.defaultResolver())
                        .cached()));
        int[] counts = new int[3];
        Corpus.classes(Path.of(args[1]), (name, bytes) -> {
            List<String> before = reports(verifier, Files.readAllBytes(originals.get(name)));
            List<String> after = reports(verifier, bytes);
            counts[0]++;
            counts[1] += before.size();
            if (!before.equals(after) && counts[2]++ < 20) {
                System.out.println(name + "\n  before " + before + "\n  after  " + after);
            }
        });
        System.out.printf("%d classes verified, %d reports, %d classes differ%n",
                counts[0], counts[1], counts[2]);
        System.exit(counts[2] == 0 ? 0 : 1);
    }

    private static InputStream open(Map<String, Path> originals, ClassDesc type) {
        String descriptor = type.descriptorString();
        Path path = originals.get(descriptor.substring(1, descriptor.length() - 1));
        try {
            return path == null ? null : Files.newInputStream(path);
        } catch (IOException e) {
            return null;
        }
    }

    /** Messages without the numbers in them: places and constants differ after rewriting. */
    private static List<String> reports(ClassFile verifier, byte[] bytes) {
        List<String> reports = new ArrayList<>();
        verifier.verify(bytes)
                .forEach(error -> reports.add(error.getMessage().replaceAll("[0-9]+", "#")));
        return reports;
    }
}

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Prints the superclass of every class that the agent has reported so far. */
final class Supers {
    private static final Pattern LOADED = Pattern.compile("class_load .* name=\"([^\\[\"]+)\" .*");

    static class Parent {}

    static final class Child extends Parent {}

    public static void main(String[] arguments) throws IOException {
        new Child();
        for (String line : Files.readAllLines(Paths.get(System.getenv("JVMPI_TEST_REPORT")))) {
            Matcher loaded = LOADED.matcher(line);
            if (loaded.matches()) {
                print(loaded.group(1));
            }
        }
    }

    private static void print(String name) {
        try {
            Class<?> parent = Class.forName(name, false, Supers.class.getClassLoader()).getSuperclass();
            if (parent != null) {
                System.out.println("expect class=\"" + name + "\" super=\"" + parent.getName() + "\"");
            }
        } catch (ClassNotFoundException | LinkageError hidden) {
            // not to be found by name
        }
    }
}

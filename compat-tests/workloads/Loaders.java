import java.util.ArrayList;
import java.util.List;

/**
 * Class loaders that refuse all but the JDK's classes and one of their own, and take note of what they are asked
 * for. With the argument "late" the events are enabled when the loaders are there.
 */
final class Loaders {
    public static final class Made implements Runnable {
        @Override
        public void run() {
            for (int i = 0; i < 10; i++) {
                step();
            }
        }

        private static void step() {}
    }

    public abstract static class Strict extends ClassLoader {
        final List<String> asked = new ArrayList<>();

        public Strict() {
            super(null);
        }

        public final Class<?> find(String name) throws ClassNotFoundException {
            asked.add(name);
            if (!name.startsWith("java.")) {
                throw new ClassNotFoundException(name);
            }
            return Class.forName(name, false, null);
        }

        final Runnable make() throws Exception {
            byte[] file = ClassFile.of("Loaders$Made");
            Class<?> made = defineClass("Loaders$Made", file, 0, file.length);
            return (Runnable) made.getDeclaredConstructor().newInstance();
        }
    }

    /** The VM calls the method of `ClassLoader`, which calls this. */
    private static final class Usual extends Strict {
        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            return find(name);
        }
    }

    /** The VM calls this. */
    private static final class Direct extends Strict {
        @Override
        public Class<?> loadClass(String name) throws ClassNotFoundException {
            return find(name);
        }
    }

    /** In a file of Java 1.4; its code cannot push classes. */
    public static final class Old extends Strict {
        @Override
        public Class<?> loadClass(String name) throws ClassNotFoundException {
            return find(name);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Strict[] loaders = {new Usual(), new Direct(), (Strict) new OldVersion(48).make("Loaders$Old")};
        if (arguments.length > 0) {
            Agent.call("enable");
        }
        for (Strict loader : loaders) {
            loader.make().run();
            String name = loader.getClass().getName();
            System.out.println("expect loader=" + name.substring(name.indexOf('$') + 1) + " asked="
                    + loader.asked.size() + " tracker=" + loader.asked.contains("jvmpi.Tracker"));
        }
    }
}

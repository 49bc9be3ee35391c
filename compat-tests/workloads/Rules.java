import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;

/** Lets a thread, objects and a class come and go, and has the agent break rules in between. */
final class Rules {
    /** Each is loaded when the agent asks for the class file of the next class. */
    static final class First {}
    static final class Second {}
    static final class Third {}

    public static final class Unloaded {
        public void method() {}
    }

    private static byte[] read(String name) throws IOException {
        try (InputStream in = Rules.class.getResourceAsStream(name + ".class")) {
            ByteArrayOutputStream file = new ByteArrayOutputStream();
            for (int next = in.read(); next >= 0; next = in.read()) {
                file.write(next);
            }
            return file.toByteArray();
        }
    }

    private static void define(String step, String name) throws Exception {
        byte[] file = read(name);
        ClassFile.Loader loader = new ClassFile.Loader();
        Agent.call(step);
        loader.define(file);
        Agent.call("hooked");
    }

    private static void loadAndDrop() throws Exception {
        new ClassFile.Loader().define(read("Rules$Unloaded")).getDeclaredConstructor().newInstance();
    }

    public static void main(String[] arguments) throws Exception {
        Agent.call("load the library first");
        Thread ended = new Thread(() -> {}, "ended");
        ended.start();
        ended.join();
        loadAndDrop();
        while (Agent.call("unloaded and freed") == 0) {
            System.gc();
        }
        define("class-load-hook/not-set", "Rules$First");
        define("class-load-hook/allocator", "Rules$Second");
        define("class-load-hook/in-place", "Rules$Third");
        Agent.call("java");
        System.out.println("expect done=1");
    }
}

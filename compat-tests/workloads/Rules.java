/** Lets a thread, objects and a class come and go, and has the agent break rules in between. */
final class Rules {
    /** Each is loaded when the agent asks for the class file of the next class. */
    static final class First {}
    static final class Second {}
    static final class Third {}

    public static final class Unloaded {
        public void method() {}
    }

    private static void define(String step, String name) {
        byte[] file = ClassFile.of(name);
        ClassFile.Loader loader = new ClassFile.Loader();
        Agent.call(step);
        loader.define(file);
        Agent.call("hooked");
    }

    private static void loadAndDrop() throws Exception {
        new ClassFile.Loader().define(ClassFile.of("Rules$Unloaded")).getDeclaredConstructor().newInstance();
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

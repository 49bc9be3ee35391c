import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;

/** Loads a class many times, each in a loader of its own, and drops them all. */
final class Unload {
    private static final int LOADERS = 10, TRACED = 150;

    public static final class Victim implements Runnable {
        static int runs;

        public void run() {
            for (int i = 0; i < 100; i++) {
                step(i);
            }
            if (Boolean.getBoolean("victim.trace")) {
                Agent.call("trace");
            }
        }

        private static void step(int i) {
            runs += i;
        }
    }

    /** With as many methods, which are others. */
    public static final class Second implements Runnable {
        static int runs;

        private static void leap() {
            runs++;
        }

        public void run() {
            leap();
            leap();
        }
    }

    static class Parent {}

    /** Its superclass is not there where it is defined. */
    static final class Orphan extends Parent {
        void one() {}

        void another() {}
    }

    /**
     * The argument says what else to look at: nothing, "traced" methods, GC "held" off, what is
     * "called", or what is defined and "never called".
     */
    public static void main(String[] arguments) throws Exception {
        String test = arguments.length > 0 ? arguments[0] : "";
        Agent.call("load the library first");
        if (test.equals("called")) {
            called();
            return;
        }
        if (test.equals("never called")) {
            neverCalled();
            return;
        }
        byte[] file = ClassFile.of("Unload$Victim");
        List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
        for (int i = 0; i < (test.equals("traced") ? TRACED : LOADERS); i++) {
            ClassFile.Loader loader = new ClassFile.Loader();
            loaders.add(new WeakReference<>(loader));
            ((Runnable) loader.define(file).getDeclaredConstructor().newInstance()).run();
        }
        if (test.equals("traced")) {
            Await.until("the loaders to die", () -> {
                Agent.call("collect");
                return loaders.stream().allMatch(loader -> loader.get() == null);
            });
            Agent.call("collect");
            return;
        }
        if (test.equals("held")) {
            Agent.call("disable");
            Await.until("the loaders to die", () -> {
                System.gc();
                return loaders.stream().allMatch(loader -> loader.get() == null);
            });
            System.gc();
            System.out.println("expect test=held unloaded=" + Agent.call("unloaded"));
            Agent.call("enable");
        }
        Await.until("the classes to be unloaded", () -> {
            System.gc();
            return Agent.call("unloaded") >= LOADERS;
        });
        System.out.println("expect unloaded=" + Agent.call("unloaded"));
    }

    /** Two classes in turn, with all of one gone before the other is loaded. */
    private static void called() throws Exception {
        final int rounds = 40;
        byte[][] files = {ClassFile.of("Unload$Victim"), ClassFile.of("Unload$Second")};
        for (int i = 0; i < rounds; i++) {
            List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
            for (int k = 0; k < LOADERS; k++) {
                ClassFile.Loader loader = new ClassFile.Loader();
                loaders.add(new WeakReference<>(loader));
                ((Runnable) loader.define(files[i % 2]).getDeclaredConstructor().newInstance()).run();
            }
            long gone = (i + 1) * LOADERS;
            Await.until("the loaders to die", () -> {
                Agent.call("collect");
                return Agent.call("unloaded") >= gone && loaders.stream().allMatch(loader -> loader.get() == null);
            });
        }
        System.out.println("expect steps=" + Agent.call("steps") + " leaps=" + Agent.call("leaps") + " classes="
                + rounds / 2 * LOADERS + " open=" + Agent.call("open"));
    }

    /** Definitions that fail, as the class is there already or its superclass is missing, and classes of no use. */
    private static void neverCalled() throws Exception {
        final int failures = 10_000, rounds = 8, together = 50;
        byte[] victim = ClassFile.of("Unload$Victim"), orphan = ClassFile.of("Unload$Orphan");
        ClassFile.Loader loader = new ClassFile.Loader();
        loader.define(victim);
        int failed = 0;
        for (int i = 0; i < failures; i++) {
            try {
                if (i % 2 == 0) {
                    loader.define(victim);
                } else {
                    new ClassFile.Loader((ClassLoader) null).define(orphan);
                }
            } catch (LinkageError e) {
                failed++;
            }
        }
        for (int i = 0; i < rounds; i++) {
            List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
            for (int k = 0; k < together; k++) {
                ClassFile.Loader next = new ClassFile.Loader();
                loaders.add(new WeakReference<>(next));
                next.define(victim);
            }
            Await.until("the loaders to die", () -> {
                Agent.call("collect");
                return loaders.stream().allMatch(next -> next.get() == null);
            });
            Agent.call("collect");
        }
        System.out.println("expect failed=" + failed);
    }
}

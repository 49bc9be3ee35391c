import java.security.Permission;

/** A program with a security manager of its own, which `-Djava.security.manager` names or the program sets. */
final class Managed {
    private static class Manager extends SecurityManager {
        @Override
        public void checkPermission(Permission permission) {}
    }

    /** Denies nothing. */
    public static final class Watching extends Manager {
        private int checked;

        @Override
        public void checkPackageAccess(String name) {
            note(name);
        }

        private void note(String name) {
            checked += name.length();
        }
    }

    /** Lets the program use only the JDK's packages and its own. */
    public static final class Refusing extends Manager {
        @Override
        public void checkPackageAccess(String name) {
            if (!name.startsWith("java") && !name.startsWith("jdk") && !name.startsWith("sun")) {
                throw new SecurityException("no access to " + name);
            }
        }
    }

    /** Refuses threads in the top-level group. */
    public static final class Guarding extends Manager {
        @Override
        public void checkAccess(ThreadGroup group) {
            if (group.getParent() == null) {
                throw new SecurityException("no access to " + group.getName());
            }
        }
    }

    /** Refuses threads in all groups. */
    public static final class Closed extends Manager {
        @Override
        public void checkAccess(ThreadGroup group) {
            throw new SecurityException("no access to " + group.getName());
        }
    }

    private static void step() {}

    private static void set(String name) throws ReflectiveOperationException {
        Class<?> manager = Class.forName("Managed$" + name);
        System.setSecurityManager((SecurityManager) manager.getDeclaredConstructor().newInstance());
    }

    /** With the name of a class it sets the manager, and then has the agent enable its events. */
    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0) {
            set(arguments[0]);
            Agent.call("enable");
        }
        for (int i = 0; i < 1000; i++) {
            step();
        }
        System.out.println("expect manager=" + System.getSecurityManager().getClass().getSimpleName());
    }

    /** Has the agent start a thread, and waits until the collection that it requests is reported. */
    public static final class Threads implements Runnable {
        private static volatile String seen = "";

        /** Runs on the agent's thread. */
        @Override
        public void run() {
            Thread thread = Thread.currentThread();
            thread.interrupt();
            seen = " group=" + thread.getThreadGroup().getName() + " daemon=" + thread.isDaemon()
                    + " priority=" + thread.getPriority() + " name=" + thread.getName()
                    + " interrupted=" + Thread.interrupted() + " id=" + (thread.getId() != 0);
        }

        public static void main(String[] arguments) throws ReflectiveOperationException {
            if (arguments.length > 0) {
                set(arguments[0]);
            }
            long started = Agent.call("start", new Threads());
            System.gc();
            Await.until("a collection", () -> Agent.call("collections") > 0);
            System.out.println("expect started=" + started + seen);
        }
    }
}

import java.util.concurrent.locks.LockSupport;

/** Has the agent suspend threads, and looks whether they still make progress. The arguments are the tests. */
final class Suspend {
    private static final int ROUNDS = 12, PROGRESS = 200_000;
    private static volatile long spinner, witness, waiter;
    private static volatile boolean over;

    public static void main(String[] arguments) throws InterruptedException {
        Thread spinning = Await.start("spinner", () -> {
            while (!over) {
                spinner = next(spinner);
            }
        });
        Thread watching = Await.start("witness", () -> {
            while (!over) {
                witness = next(witness);
            }
        });
        Thread waiting = Await.start("waiter", () -> {
            while (!over) {
                LockSupport.park();
                waiter++;
            }
        });
        Await.state(waiting, Thread.State.WAITING);
        spinnerRuns();

        for (String test : arguments) {
            switch (test) {
                case "waiting": waiting(waiting); break;
                case "java": java(spinning); break;
                case "agents": agents(); break;
                case "anywhere": anywhere(); break;
                case "collection": collection(); break;
                case "linking": linking(); break;
                default: throw new IllegalArgumentException(test);
            }
        }

        over = true;
        LockSupport.unpark(waiting);
        Await.join(spinning, watching, waiting);
    }

    /** The zero VM stops a thread when it returns from a call, not when it jumps backwards. */
    private static long next(long count) {
        return count + 1;
    }

    private static void spinnerRuns() {
        long before = spinner;
        Await.until("the spinner to run", () -> spinner != before);
    }

    private static void witnessRuns() {
        long before = witness;
        Await.until("the witness to run", () -> witness > before + PROGRESS);
    }

    /** A thread suspended by Java code, before an agent did, continues when Java code resumes it. */
    @SuppressWarnings("deprecation")
    private static void java(Thread thread) {
        long moved = 0;
        for (int i = 0; i < ROUNDS; i++) {
            thread.suspend();
            Agent.call("suspend spinner");
            if (i % 2 == 0) {
                witnessRuns();
            }
            Agent.call("resume spinner");
            moved += movesNow();
            thread.resume();
            spinnerRuns();
        }
        System.out.println("expect test=java moved=" + moved);
    }

    /** Nobody waits for a thread that Java code has suspended while its object got an ID. */
    @SuppressWarnings("deprecation")
    private static void anywhere() throws InterruptedException {
        Agent.call("references");
        Thread thread = new Thread(() -> {
            while (!over) {
                Agent.call("reference", new Object());
            }
        });
        thread.start();
        // JDK 11 itself may take seconds to suspend a thread that is just going back to the VM.
        for (int i = 0; i < ROUNDS / 2; i++) {
            thread.suspend();
            Agent.call("reference", new Object());
            Agent.call("suspend spinner");
            Agent.call("resume spinner");
            thread.resume();
            if (i % 4 == 0) {
                Thread begins = new Thread(() -> {});
                begins.start();
                begins.suspend();
                Agent.call("reference", new Object());
                begins.resume();
                begins.join();
            }
        }
        System.out.println("expect test=anywhere rounds=" + ROUNDS);
    }

    /** A thread suspended by two agents continues when both have resumed it. */
    private static void agents() {
        long moved = 0;
        for (int i = 0; i < ROUNDS; i++) {
            String first = i % 2 == 0 ? "" : "other ", second = i % 2 == 0 ? "other " : "";
            Agent.call(second + "resume spinner");
            Agent.call(first + "suspend spinner");
            Agent.call(second + "resume spinner");
            witnessRuns();
            moved += movesNow();
            Agent.call(second + "suspend spinner");
            Agent.call(second + "suspend spinner");
            Agent.call(first + "resume spinner");
            Agent.call(first + "resume spinner");
            moved += movesNow();
            Agent.call(second + "resume spinner");
            spinnerRuns();
        }
        System.out.println("expect test=agents moved=" + moved);
    }

    private static long movesNow() {
        long before = spinner;
        witnessRuns();
        return spinner - before;
    }

    /** Collections do not wait for suspended threads. */
    private static void collection() {
        for (int i = 0; i < ROUNDS; i++) {
            Agent.call("suspend spinner");
            System.gc();
            Agent.call("resume spinner");
            spinnerRuns();
        }
        System.out.println("expect test=collection rounds=" + ROUNDS);
    }

    static class Base {}

    static final class Derived extends Base {}

    static final class Made {
        /** To verify this, the VM loads the class that is returned. */
        static Base make() {
            return new Derived();
        }
    }

    /** Loads one class and waits in it until it may continue. */
    private static final class Loader extends ClassFile.Loader {
        volatile boolean isLoading, mayGoOn;

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.equals("Suspend$Derived")) {
                isLoading = true;
                while (!mayGoOn) {
                    witness = next(witness);
                }
            }
            return super.loadClass(name, resolve);
        }
    }

    /** Asks for a class that a suspended thread is just linking. */
    private static void linking() throws InterruptedException {
        Loader loader = new Loader();
        Class<?> made = loader.define(ClassFile.of(Made.class.getName()));
        Thread linker = Await.start("linker", () -> Class.forName(made.getName(), true, loader));
        Await.until("the linker to load", () -> loader.isLoading);
        Agent.call("suspend linker");
        long suspended = Agent.call("class", made);
        // To rewrite a class the VM links it.
        Agent.call("methods");
        loader.mayGoOn = true;
        Agent.call("resume linker");
        // The first call looks for what it reports to, which takes methods, too.
        enter();
        // To ask may be the call of a method that is reported.
        long own = -Agent.call("entered", null);
        long entered = Agent.call("entered", null);
        own += entered;
        for (int i = 0; i < ROUNDS; i++) {
            enter();
        }
        entered = Agent.call("entered", null) - entered - own;
        linker.join();
        long linked = Agent.call("class", made);
        System.out.println("expect test=linking suspended=" + suspended + " linked=" + linked
            + " calls=" + ROUNDS + " entered=" + entered);
    }

    private static void enter() {}

    /** A waiting thread, suspended and released meanwhile, continues only when resumed. */
    private static void waiting(Thread thread) {
        waiter = 0;
        Agent.call("suspend waiter");
        LockSupport.unpark(thread);
        witnessRuns();
        System.out.println("expect test=waiting moved=" + waiter);
        Agent.call("resume waiter");
        Await.until("the waiter to go on", () -> waiter == 1);
        Await.state(thread, Thread.State.WAITING);
    }
}

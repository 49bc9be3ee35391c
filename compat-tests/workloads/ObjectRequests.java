/** Names objects of all kinds, or many of one kind; the agent requests their OBJECT_ALLOC. */
final class ObjectRequests {
    private static final class Watched {}

    private static final class Numbered {
        int number;
    }

    private static Object goes = new Object();
    private static volatile Object kept;

    public static void main(String[] arguments) {
        if (arguments.length > 0) {
            many(Integer.parseInt(arguments[0]), Integer.parseInt(arguments[1]), arguments.length > 2);
            return;
        }
        Agent.call("object", new Watched());
        Agent.call("string", "a string");
        Agent.call("thread", Thread.currentThread());
        Agent.call("ints", new int[3]);
        Agent.call("booleans", new boolean[3]);
        Agent.call("references", new Watched[3]);
        Agent.call("two_dimensions", new Watched[3][4]);
        Agent.call("int_arrays", new int[3][4]);
        Agent.call("class", Watched.class);
        Agent.call("class_of_classes", Class.class);
        Agent.call("class_of_arrays", Watched[].class);
        Agent.call("class_of_ints", int[].class);

        Agent.call("element", Watched.class);
        Agent.call("element_array", Watched[].class);
        Agent.call("int_array", int[].class);

        Agent.call("nested", new Watched());
        Agent.call("made_up", new Object());
        Agent.call("goes", goes);
        goes = null;
        Agent.call("gone");

        Agent.call("watch", Watched.class);
        kept = new Watched();
    }

    /** If they are not kept nothing but the agent's call refers to them, where no walk looks if this is compiled. */
    private static void many(int named, int others, boolean areKept) {
        Numbered[] numbered = new Numbered[named];
        for (int i = 0; i < named; i++) {
            numbered[i] = new Numbered();
            numbered[i].number = i;
        }
        Object[] list = null;
        for (int i = 0; i < others; i++) list = new Object[] {list};
        kept = areKept ? new Object[] {list, numbered} : list;
        Agent.call("many", numbered);
    }
}

/** Names objects of all kinds, of which the agent asks for OBJECT_ALLOC. */
final class ObjectRequests {
    private static final class Watched {}

    private static Object goes = new Object();
    private static volatile Object kept;

    public static void main(String[] arguments) {
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
}

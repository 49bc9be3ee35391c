/** Names many objects; the agent requests their OBJECT_ALLOC. */
final class ObjectRequests {
    private static final class Numbered {
        int number;
    }

    private static volatile Object kept;

    public static void main(String[] arguments) {
        many(Integer.parseInt(arguments[0]), Integer.parseInt(arguments[1]), arguments.length > 2);
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

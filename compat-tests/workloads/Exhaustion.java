/** Keeps more objects than there are IDs, and then none of them. */
final class Exhaustion {
    private static Object[] kept = new Object[60_000];

    public static void main(String[] arguments) {
        Agent.call("clear");
        for (int i = 0; i < kept.length; i++) {
            kept[i] = new Object();
        }
        long told = Agent.call("count objects", Object.class);
        long id = Agent.call("id", kept[kept.length - 1]);
        long dumps = Agent.call("dump");
        kept = null;
        Agent.call("run_gc");
        Agent.call("clear");
        Object[] objects = new Object[1000];
        for (int i = 0; i < objects.length; i++) {
            objects[i] = new Object();
        }
        long toldAfter = Agent.call("count objects", Object.class);
        long idAfter = Agent.call("id", objects[0]);
        long dumpsAfter = Agent.call("dump");
        System.out.println("expect told=" + told + " id=" + id + " dumps=" + dumps + " told_after=" + toldAfter
            + " id_after=" + idAfter + " dumps_after=" + dumpsAfter);
    }
}

/** Has the agent remember objects, and ask for a heap dump. */
final class DumpObjects {
    public static void main(String[] arguments) {
        Object[] objects = new Object[500];
        for (int i = 0; i < objects.length; i++) {
            objects[i] = new int[i];
            Agent.call("known", objects[i]);
        }
        if (Agent.call("heap") != 0 || objects[0] == null) {
            throw new IllegalStateException("no dump");
        }
        System.out.println("expect objects=" + objects.length);
    }
}

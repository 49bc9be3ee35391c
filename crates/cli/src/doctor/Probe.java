/** Makes calls and objects, and says how many. Probe.class is this, compiled for Java 8. */
final class Probe {
    private static final int COUNT = 2000;

    private static int calls;
    private static volatile Probe last;
    private static volatile int[] array;

    private static void call() {
        calls++;
    }

    public static void main(String[] arguments) {
        for (int i = 0; i < COUNT; i++) {
            call();
            last = new Probe();
            array = new int[i];
        }
        System.out.println("calls=" + calls + " objects=" + COUNT + " arrays=" + COUNT);
    }
}

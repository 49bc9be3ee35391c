/** Prints how often the agent has called it before it runs. */
final class OnLoad {
    private static int called;

    static void call() {
        called++;
    }

    public static void main(String[] arguments) {
        System.out.println("expect called=" + called);
    }
}

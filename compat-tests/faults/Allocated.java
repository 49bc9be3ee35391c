final class Allocated {
    static Object last;

    private static native void count(int allocated);

    public static void main(String[] arguments) {
        count(0);
        last = new Allocated();
        last = new byte[100_000];
        for (int i = 0; i < 1000; i++) last = new Allocated();
        count(1002);
    }
}

final class Roots {
    private static native void walk();

    public static void main(String[] arguments) throws InterruptedException {
        synchronized (Roots.class) {
            Roots.class.wait(1); // makes a monitor of the lock
            walk();
        }
    }
}

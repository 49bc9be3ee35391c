/** A virtual thread that sleeps; the VM loads classes meanwhile. */
final class Loads {
    private static native void look(boolean isLast);

    public static void main(String[] arguments) throws Exception {
        Runnable sleep = () -> {
            try {
                Thread.sleep(5);
            } catch (InterruptedException e) { }
        };
        look(false);
        ((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, sleep)).join();
        look(true);
    }
}

/** Walks the heap in the constructor of a virtual thread. */
final class Making {
    private static native void walk();

    public static void main(String[] arguments) throws ReflectiveOperationException {
        InheritableThreadLocal<Integer> local = new InheritableThreadLocal<>() {
            @Override
            protected Integer childValue(Integer value) {
                walk();
                return value;
            }
        };
        local.set(1);
        Runnable nothing = () -> {};
        Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, nothing);
    }
}

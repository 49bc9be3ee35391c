final class Lambdas {
    private static native void retransform();

    private static Runnable lambda() {
        return () -> {};
    }

    public static void main(String[] arguments) {
        Class<?> before = lambda().getClass();
        retransform();
        if (lambda().getClass() != before) System.out.println("fault: the lambda has a second class");
    }
}

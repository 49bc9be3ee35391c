final class Nested {
    private static native void retransform();

    public static void main(String[] arguments) {
        retransform();
    }
}

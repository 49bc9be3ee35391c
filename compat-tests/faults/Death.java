final class Death {
    private static native void tag(Object object);

    public static void main(String[] arguments) {
        tag(new Object());
    }
}

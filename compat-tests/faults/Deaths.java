final class Deaths {
    private static native void tag(Object object);

    private static native boolean walk();

    public static void main(String[] arguments) {
        for (int round = 0; round < 500; round++) {
            for (int i = 0; i < 5_000; i++) tag(new Object());
            if (walk()) {
                System.out.println("fault: the tag of another environment");
                break;
            }
        }
    }
}

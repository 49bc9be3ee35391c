final class Freed {
    public static void main(String[] arguments) {
        Changed.run();
        Changed.retransform();
    }
}

final class Changed {
    static native void retransform();

    static String run() {
        retransform();
        return "text A";
    }
}

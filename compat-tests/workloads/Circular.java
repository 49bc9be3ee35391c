/** A class that its superclass needs for verification: until it is loaded, the superclass cannot be linked. */
final class Circular {
    static class Made {}

    static class Parent extends Made {
        /** To verify this, the VM loads the class that is returned. */
        static Made make() {
            return new Child();
        }
    }

    static final class Child extends Parent {}

    public static void main(String[] arguments) throws ClassNotFoundException {
        System.out.println("expect loaded=\"" + Class.forName("Circular$Child").getSimpleName() + "\"");
    }
}

/** Prints its arguments and ends. */
final class Hello {
    public static void main(String[] arguments) {
        System.out.println("hello " + String.join(" ", arguments));
    }
}

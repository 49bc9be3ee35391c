/** Does nothing: the agent works before. */
final class Weak {
    public static void main(String[] arguments) { }
}

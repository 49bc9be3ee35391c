/** Prints the text of a class that the agent may have changed. */
final class Hook {
    static final class Target {
        static String text() {
            return "ORIGINAL";
        }
    }

    public static void main(String[] arguments) {
        System.out.println("expect text=" + Target.text());
    }
}

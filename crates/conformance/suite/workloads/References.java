/** Hands the agent an object to make references to. */
public final class References {
    public static void main(String[] arguments) {
        Conform.call("references", new StringBuffer());
    }
}

import java.util.Arrays;

/** Concatenates strings by invokedynamic. */
final class Concatenation {
    private static final int COUNT = 10_000, LENGTH = 537;

    private static volatile String kept;

    public static void main(String[] arguments) {
        char[] letters = new char[500];
        Arrays.fill(letters, 'a');
        String prefix = new String(letters), middle = prefix.substring(0, 33);
        for (int i = 0; i < COUNT; i++) {
            kept = prefix + middle + (1_000 + i % 1_000);
        }
        String what = "elements 8 " + LENGTH;
        System.out.println("expect kind=concatenation counted=" + COUNT + " reported=" + Agent.call("count " + what)
                + " sizes=" + Agent.call("sizes " + what) + " size=" + Agent.call("size " + what)
                + " payload=" + LENGTH);
    }
}

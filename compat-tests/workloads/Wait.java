import java.io.IOException;

/** Says that it is ready, and ends when its standard input does. */
final class Wait {
    public static void main(String[] arguments) throws IOException {
        System.out.println("ready");
        while (System.in.read() >= 0) {
            // the contents of the input do not matter
        }
        System.out.println("done");
    }
}

import java.io.IOException;

/** Says that it is ready, and ends when its standard input does. */
final class Wait {
    public static void main(String[] arguments) throws IOException {
        System.out.println("ready");
        Await.endOfInput();
        System.out.println("done");
    }
}

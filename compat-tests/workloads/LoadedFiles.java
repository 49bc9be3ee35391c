/** Looks at what an agent was shown of the classes that were loaded before, and at what it has made of them. */
final class LoadedFiles {
    static final class Early {}

    static final class Between {}

    static final class Late {}

    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "shown":
                loadByThreads();
                Agent.call("check");
                break;
            case "changed":
                print("at first");
                Agent.call("enable methods");
                print("with methods");
                Agent.call("disable methods");
                print("without methods");
                Agent.call("check");
                break;
            case "late":
                touch(Early.class);
                Agent.call("enable");
                Agent.call("disable");
                touch(Between.class);
                Agent.call("enable");
                touch(Late.class);
                Agent.call("check");
                break;
            default:
                throw new IllegalArgumentException(arguments[0]);
        }
        System.out.println("done");
    }

    private static void touch(Class<?> type) {
        if (type.getName().isEmpty()) {
            throw new AssertionError();
        }
    }

    private static void loadByThreads() throws InterruptedException {
        String[] names = {"java.util.zip.GZIPInputStream", "java.util.zip.CRC32", "java.util.Random"};
        Await.join(Await.startAll(names.length, "loads-", i -> Await.run(() -> Class.forName(names[i]))));
    }

    private static void print(String when) {
        String text = new Object().toString();
        System.out.println("expect when=\"" + when + "\" text=\"" + text.replaceAll("[0-9a-f]+$", "") + "\" number=" + Integer.parseInt("42"));
    }
}

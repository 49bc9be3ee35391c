final class Unowned {
    public static void main(String[] arguments) throws InterruptedException {
        try {
            new Object().wait(4711);
        } catch (IllegalMonitorStateException e) { }
    }
}

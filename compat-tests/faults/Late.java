/** Threads go on starting while the VM ends. */
final class Late {
    private static native void look();

    public static void main(String[] arguments) throws Exception {
        Thread starter = new Thread(() -> {
            while (true) {
                Thread brief = new Thread(Late::look);
                brief.start();
                try {
                    brief.join();
                } catch (InterruptedException e) { }
            }
        });
        starter.setDaemon(true);
        starter.start();
        Thread.sleep(200);
    }
}

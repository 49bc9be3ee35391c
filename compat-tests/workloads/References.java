/** Starts threads, each with a class of its own, to which the shim keeps references. */
final class References {
    public static void main(String[] arguments) throws InterruptedException {
        Agent.call("enable");
        for (int i = 0; i < 20; i++) {
            Thread thread = new Thread(() -> new Object() {}.hashCode());
            thread.start();
            thread.join();
        }
        System.out.println("expect events=" + Agent.call("come"));
    }
}

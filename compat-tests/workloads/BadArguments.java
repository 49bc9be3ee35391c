/** Lets a thread end, and calls the agent. */
final class BadArguments {
    public static void main(String[] arguments) throws InterruptedException {
        Agent.call("load the library first");
        Thread dead = new Thread(() -> {}, "dead");
        dead.start();
        dead.join();
        Agent.call("bad arguments");
        System.out.println("expect alive=1");
    }
}

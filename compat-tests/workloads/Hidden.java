/** Runs a method of the hidden class behind a lambda expression, and through it one of its own. */
final class Hidden {
    public static void main(String[] arguments) {
        int[] runs = new int[1];
        Runnable lambda = () -> runs[0]++;
        lambda.run();
        Agent.call("look", lambda);
        System.out.println("expect runs=" + runs[0]);
    }
}

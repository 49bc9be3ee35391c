import java.util.concurrent.Callable;

/** Has the methods of a class reported and not reported in turn that has thousands of constants that are NaN. */
final class NotANumber {
    /** Of these and as many again there is room for two times. */
    private static final int NANS = 9_000, ROUNDS = 2;

    public static void main(String[] arguments) throws Exception {
        FreshClass file = new FreshClass("Made", 49);
        for (int i = 0; i < NANS; i++) {
            file.number(0x7ff8_0000_0000_0000L + i);
        }
        file.method("small", "()I", 1, 0, FreshClass.bytes(0x08, 0xac));
        Class<?> made = new ClassFile.Loader().define(file.file());
        Callable<Object> small = () -> made.getMethod("small").invoke(null);
        int sum = 0;
        for (int i = 0; i < ROUNDS; i++) {
            sum += (int) small.call();
            Agent.call("enable");
            sum += (int) small.call();
            Agent.call("disable");
        }
        System.out.println("expect rounds=" + ROUNDS + " sum=" + sum);
    }
}

import java.util.zip.Deflater;

/** Calls native methods: looked up by name, registered, failing, and the JDK's. */
final class Natives {
    static native int registered(int n, long m, Object o);

    synchronized native void failing();

    public static void main(String[] arguments) {
        Agent.call("register", Natives.class);
        int sum = 0;
        for (int i = 0; i < 100; i++) {
            sum += registered(i, 2, null);
        }
        int failures = 0;
        Natives natives = new Natives();
        for (int i = 0; i < 5; i++) {
            try {
                natives.failing();
            } catch (IllegalStateException e) {
                failures += Thread.holdsLock(natives) ? 0 : 1;
            }
        }
        Deflater deflater = new Deflater();
        deflater.setInput(new byte[1000]);
        deflater.finish();
        int compressed = deflater.deflate(new byte[1000]);
        deflater.end();
        Agent.call("trace");
        System.out.println("expect sum=" + sum + " failures=" + failures + " compressed=" + (compressed > 0));
    }
}

/** Calls a native library that asks the JVM for the profiler interface. */
final class Utility {
    static native boolean use();

    public static void main(String[] arguments) {
        System.load(System.getProperty("agent.path"));
        System.out.println("expect used=" + use());
    }
}

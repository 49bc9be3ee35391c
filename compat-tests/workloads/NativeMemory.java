import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;

/**
 * Threads that call malloc and free inside the VM, beside one that computes and one that allocates objects: a thread
 * that is stopped inside malloc keeps all others from it. The argument is the number of steps of each thread.
 */
final class NativeMemory {
    private static final MethodHandle ALLOCATE, FREE;
    private static volatile long sum;
    private static volatile Object last;

    static {
        try {
            Class<?> type = Class.forName("sun.misc.Unsafe");
            Field field = type.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            Object unsafe = field.get(null);
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            ALLOCATE = lookup.unreflect(type.getMethod("allocateMemory", long.class)).bindTo(unsafe);
            FREE = lookup.unreflect(type.getMethod("freeMemory", long.class)).bindTo(unsafe);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private interface Step {
        void run(int i) throws Throwable;
    }

    public static void main(String[] arguments) throws InterruptedException {
        int steps = Integer.parseInt(arguments[0]);
        List<Thread> threads = new ArrayList<>();
        threads.add(repeat(steps, NativeMemory::allocateNative));
        threads.add(repeat(steps, NativeMemory::allocateNative));
        threads.add(repeat(steps, i -> last = new byte[200 + i % 100]));
        threads.add(repeat(steps, NativeMemory::compute));
        Await.join(threads);
        System.out.println("expect steps=" + threads.size() * steps);
    }

    private static Thread repeat(int steps, Step step) {
        return Await.start("repeats", () -> {
            for (int i = 0; i < steps; i++) {
                try {
                    step.run(i);
                } catch (Throwable e) {
                    throw new AssertionError(e);
                }
            }
        });
    }

    private static void allocateNative(int i) throws Throwable {
        long address = (long) ALLOCATE.invokeExact((long) (1000 + i % 5000));
        FREE.invokeExact(address);
    }

    private static void compute(int i) {
        long product = i;
        for (int j = 1; j < 200; j++) {
            product = product * 31 + j;
        }
        sum += product;
    }
}

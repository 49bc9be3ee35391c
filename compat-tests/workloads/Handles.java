import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/** Makes method handles that hold one, two and three arguments, and then objects. */
public final class Handles {
    static final int OBJECTS = 100;

    static final class Made {}

    static String joined(Object a, Object b, Object c) {
        return a.toString().concat(b.toString()).concat(c.toString());
    }

    public static void main(String[] arguments) throws Throwable {
        MethodType type = MethodType.methodType(String.class, Object.class, Object.class, Object.class);
        MethodHandle handle = MethodHandles.lookup().findStatic(Handles.class, "joined", type);
        for (String argument : new String[] {"1", "2", "3"}) {
            handle = MethodHandles.insertArguments(handle, 0, argument);
        }
        System.out.println((String) handle.invoke());
        for (int i = 0; i < OBJECTS; i++) {
            new Made();
        }
        System.out.println("expect made=" + OBJECTS);
    }
}

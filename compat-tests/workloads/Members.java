import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;

/** Prints the members of one class according to reflection. */
final class Members {
    abstract static class Known implements Runnable, Cloneable {
        static int counter = Integer.parseInt("5");
        static final String CONSTANT = "constant";
        protected long[][] longs;
        boolean flag;
        private volatile String text;
        transient Known next;

        Known(int number) {
            counter = number;
        }

        private Known(String text, double[] values) {
            this.text = text;
        }

        abstract String undone(char a, byte b, short c, float d);

        static native void elsewhere(Object[] arguments);

        public void run() {}

        static int[] lines() {
            int first = new Throwable().getStackTrace()[0].getLineNumber();

            return new int[] {first, new Throwable().getStackTrace()[0].getLineNumber()};
        }
    }

    public static void main(String[] arguments) {
        for (Method method : Known.class.getDeclaredMethods()) {
            print(method.getName(), descriptor(method.getParameterTypes(), method.getReturnType()));
        }
        for (Constructor<?> constructor : Known.class.getDeclaredConstructors()) {
            print("<init>", descriptor(constructor.getParameterTypes(), void.class));
        }
        print("<clinit>", "()V");
        for (Field field : Known.class.getDeclaredFields()) {
            System.out.println("expect kind=field static=" + (Modifier.isStatic(field.getModifiers()) ? 1 : 0)
                    + " name=\"" + field.getName() + "\" signature=\"" + descriptor(field.getType()) + "\"");
        }
        int[] lines = Known.lines();
        System.out.println("expect kind=lines first=" + lines[0] + " last=" + lines[1]);
        System.out.println("expect kind=class interfaces=" + Known.class.getInterfaces().length);
    }

    private static void print(String name, String signature) {
        System.out.println("expect kind=method name=\"" + name + "\" signature=\"" + signature + "\"");
    }

    private static String descriptor(Class<?>[] parameters, Class<?> result) {
        StringBuilder text = new StringBuilder("(");
        for (Class<?> parameter : parameters) {
            text.append(descriptor(parameter));
        }
        return text.append(')').append(descriptor(result)).toString();
    }

    private static String descriptor(Class<?> type) {
        if (type == void.class) {
            return "V";
        }
        String array = java.lang.reflect.Array.newInstance(type, 0).getClass().getName();
        return array.substring(1).replace('.', '/');
    }
}

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** Objects of every kind, which it describes line by line, and then dumps of them. */
public final class Graph {
    interface Constants {
        int ANSWER = 42;
        String NAME = "constants";
        long[] TABLE = {1, -1, Long.MIN_VALUE};
        Object LOCK = new Object();
    }

    interface More extends Constants {
        Object MORE = new int[] {7};
    }

    /** Never initialized. */
    static final class Asleep {
        static final Object NOTHING = new Object();
        static int never = 1;
        int field;
    }

    static class Base {
        static byte staticByte = -128;
        static Object staticObject = "static";
        boolean z = true;
        byte b = -2;
        char c = '\u20ac';
        short s = -30000;
        int i = 0x12345678;
        long l = 0x123456789abcdef0L;
        float f = 1.5f;
        double d = -Math.PI;
        Object o = this;
        Object nothing;
    }

    static class Derived extends Base implements More {
        static double staticDouble = Double.NaN;
        static Derived staticDerived;
        static boolean staticBoolean = true;
        /** Hides that of the superclass. */
        long i = -1;
        int[] ints = {1, -2, Integer.MAX_VALUE};
        String text = "\u00e9\u20ac text";
        Base other = new Base();
    }

    static class Narrow extends Derived implements Runnable {
        byte last = 1;
        Object[] objects = {this, null, "x", new Object[0], new Object[][] {{}, null}};

        @Override
        public void run() {}
    }

    /** Has neither fields nor references. */
    static final class Empty {}

    enum Color {
        RED,
        GREEN {
            @Override
            int number() {
                return 2;
            }
        };

        final int weight = 10 + ordinal();

        int number() {
            return 1;
        }
    }

    private static final List<Object> ROOTS = new ArrayList<>();

    public static void add(Object root) {
        ROOTS.add(root);
    }

    public static void main(String[] arguments) throws Exception {
        Derived.staticDerived = new Derived();
        add(new Base());
        add(new Derived());
        Narrow narrow = new Narrow();
        add(narrow);
        add(new Empty());
        add(Color.RED);
        add(Color.GREEN);
        add(Color.values());
        add(new boolean[] {true, false});
        add(new byte[] {1, -1});
        add(new char[] {'a', '\uffff'});
        add(new short[] {1, -1});
        add(new int[] {1, -1, 0x01020304});
        add(new long[] {1, -1, 0x0102030405060708L});
        add(new float[] {1, -0f, Float.MIN_VALUE});
        add(new double[] {1, -0d, Double.MAX_VALUE});
        add(new int[0]);
        add(new Base[0]);
        add(new int[][] {{1}, null, {2, 3}});
        add(new Base[2][3][0]);
        add(new String[] {"one", "two"});
        Supplier<Object> lambda = () -> narrow;
        add(lambda);
        add(new Object[] {Asleep.class, int.class, int[].class, Base[].class, Graph.class, Class.class});
        finish();
    }

    /** Describes everything and has it dumped. */
    public static void finish() throws Exception {
        int classes = 0;
        for (Object root : ROOTS) {
            describe(root);
        }
        Class<?>[] described =
            {Constants.class, More.class, Base.class, Derived.class, Narrow.class, Color.class, Graph.class};
        for (Class<?> type : described) {
            describeFields(type, null);
            classes++;
        }
        onStack(new Empty(), classes);
    }

    private static void onStack(Object local, int depth) throws Exception {
        System.out.println("expect what=local object=" + id(local));
        Agent.call("heap2 heap2");
        Agent.call("heap1 heap1");
        Agent.call("heap0 heap0");
        for (int i = 0; i < ROOTS.size(); i++) {
            Agent.call("object object-" + i, ROOTS.get(i));
            System.out.println("expect what=dumped file=object-" + i + " object=" + id(ROOTS.get(i)));
        }
        Class<?>[] types = {Asleep.class, Base.class, Constants.class, Base[].class, int[].class, int.class, Class.class};
        for (int i = 0; i < types.length; i++) {
            Agent.call("object class-" + i, types[i]);
            System.out.println("expect what=dumped file=class-" + i + " object=" + id(types[i]));
        }
        Agent.call("heap2 heap2-again");
        System.out.println("dumped");
        if (System.in.read() >= 0 || depth < 0) {
            throw new IllegalStateException();
        }
        if (local == null) {
            throw new NullPointerException();
        }
    }

    static long id(Object object) {
        return object == null ? 0 : Agent.call("id", object);
    }

    private static void describe(Object object) throws IllegalAccessException {
        Class<?> type = object.getClass();
        if (type.isArray()) {
            StringBuilder values = new StringBuilder();
            for (int i = 0; i < Array.getLength(object); i++) {
                values.append(i == 0 ? "" : " ").append(value(type.getComponentType(), Array.get(object, i)));
            }
            System.out.println("expect what=array object=" + id(object) + " class=" + id(type.getComponentType())
                    + " primitive=" + type.getComponentType().isPrimitive() + " values=\"" + values + "\"");
            return;
        }
        System.out.println("expect what=instance object=" + id(object) + " class=" + id(type));
        for (Class<?> c = type; c != null; c = c.getSuperclass()) {
            describeFields(c, object);
        }
    }

    private static void describeFields(Class<?> type, Object object) throws IllegalAccessException {
        if (!type.getName().startsWith("Graph")) {
            return;
        }
        for (Field field : type.getDeclaredFields()) {
            boolean isStatic = Modifier.isStatic(field.getModifiers());
            if (isStatic != (object == null)) {
                continue;
            }
            field.setAccessible(true);
            System.out.println("expect what=field object=" + id(isStatic ? type : object) + " class=" + id(type)
                    + " static=" + isStatic + " name=\"" + field.getName() + "\" value="
                    + value(field.getType(), field.get(object)));
            if (field.getType() == String.class && field.get(object) != null) {
                System.out.println("expect what=string object=" + id(field.get(object)) + " text=\"" + field.get(object) + "\"");
            }
        }
    }

    /** Numbers as they are, floats by their bits, references by their IDs. */
    private static String value(Class<?> type, Object value) {
        if (!type.isPrimitive()) {
            return Long.toString(id(value));
        } else if (value instanceof Boolean) {
            return (Boolean) value ? "1" : "0";
        } else if (value instanceof Character) {
            return Integer.toString((Character) value);
        } else if (value instanceof Float) {
            return Integer.toString(Float.floatToRawIntBits((Float) value));
        } else if (value instanceof Double) {
            return Long.toString(Double.doubleToRawLongBits((Double) value));
        }
        return value.toString();
    }
}

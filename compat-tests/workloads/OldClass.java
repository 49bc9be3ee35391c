import java.util.ArrayList;
import java.util.List;

/** Runs a class of an old class file version, which the VM verifies in another way than newer ones. */
final class OldClass {
    /** JDK 5: the last version without stack maps. */
    private static final int VERSION = 49;

    /** Its methods have the verifier ask which classes inherit from which. */
    public static final class Old implements Runnable {
        @Override
        public void run() {
            System.out.println(first(new ArrayList<Object>()) + second(new StringBuilder("b")) + third(3));
        }

        private static String first(List<Object> list) {
            list.add("a");
            return (String) list.get(0);
        }

        private static CharSequence second(CharSequence text) {
            return text.length() > 0 ? text : "none";
        }

        private static Number third(int number) {
            Number result = Integer.valueOf(number);
            if (number > 3) {
                result = Long.valueOf(number);
            }
            return result;
        }
    }

    public static void main(String[] arguments) throws Exception {
        ((Runnable) new OldVersion(VERSION).make("OldClass$Old")).run();
    }
}

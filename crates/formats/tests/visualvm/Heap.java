import java.io.File;
import org.graalvm.visualvm.lib.jfluid.heap.HeapFactory;
import org.graalvm.visualvm.lib.jfluid.heap.Instance;
import org.graalvm.visualvm.lib.jfluid.heap.JavaClass;
import org.graalvm.visualvm.lib.jfluid.heap.ObjectFieldValue;

/** Prints what VisualVM's heap library finds in a heap dump. */
public class Heap {
    public static void main(String[] files) throws Exception {
        for (String file : files) {
            org.graalvm.visualvm.lib.jfluid.heap.Heap heap = HeapFactory.createHeap(new File(file));
            long objects = 0;
            for (Object each : heap.getAllClasses()) {
                objects += ((JavaClass) each).getInstancesCount();
            }
            System.out.println(heap.getAllClasses().size() + " classes, " + objects + " objects, "
                    + heap.getGCRoots().size() + " roots");
            JavaClass main = heap.getJavaClassByName("Main");
            for (Object each : main.getInstances()) {
                Instance instance = (Instance) each;
                System.out.println(Long.toHexString(instance.getInstanceId())
                        + " count " + instance.getValueOfField("count"));
                for (Object value : instance.getFieldValues()) {
                    if (value instanceof ObjectFieldValue) {
                        ObjectFieldValue field = (ObjectFieldValue) value;
                        Instance to = field.getInstance();
                        System.out.println(field.getField().getName() + " "
                                + (to == null ? "null" : to.getJavaClass().getName()));
                    }
                }
            }
        }
    }
}

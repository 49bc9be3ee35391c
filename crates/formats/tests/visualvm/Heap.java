import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.graalvm.visualvm.lib.jfluid.heap.FieldValue;
import org.graalvm.visualvm.lib.jfluid.heap.GCRoot;
import org.graalvm.visualvm.lib.jfluid.heap.HeapFactory;
import org.graalvm.visualvm.lib.jfluid.heap.Instance;
import org.graalvm.visualvm.lib.jfluid.heap.JavaClass;
import org.graalvm.visualvm.lib.jfluid.heap.JavaFrameGCRoot;
import org.graalvm.visualvm.lib.jfluid.heap.ObjectArrayInstance;
import org.graalvm.visualvm.lib.jfluid.heap.ObjectFieldValue;
import org.graalvm.visualvm.lib.jfluid.heap.PrimitiveArrayInstance;
import org.graalvm.visualvm.lib.jfluid.heap.ThreadObjectGCRoot;

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
            for (Object each : heap.getGCRoots()) {
                print((GCRoot) each);
            }
            for (Object each : heap.getAllClasses()) {
                print((JavaClass) each);
            }
        }
    }

    private static void print(GCRoot root) {
        System.out.print("root: " + root.getKind());
        if (root instanceof ThreadObjectGCRoot) {
            System.out.print(" " + Arrays.toString(((ThreadObjectGCRoot) root).getStackTrace()));
        }
        if (root instanceof JavaFrameGCRoot) {
            System.out.print(" in frame " + ((JavaFrameGCRoot) root).getFrameNumber());
        }
        System.out.println();
    }

    private static void print(JavaClass type) {
        JavaClass parent = type.getSuperClass();
        System.out.println("class " + type.getName()
                + (parent == null ? "" : " extends " + parent.getName())
                + fields(type.getStaticFieldValues()));
        for (Object each : type.getInstances()) {
            Instance instance = (Instance) each;
            System.out.print(Long.toHexString(instance.getInstanceId()) + ":");
            if (instance instanceof ObjectArrayInstance) {
                List<String> ids = new ArrayList<>();
                for (Object element : ((ObjectArrayInstance) instance).getValues()) {
                    ids.add(id((Instance) element));
                }
                System.out.println(" " + ids);
            } else if (instance instanceof PrimitiveArrayInstance) {
                System.out.println(" " + ((PrimitiveArrayInstance) instance).getValues());
            } else {
                System.out.println(fields(instance.getFieldValues()));
            }
        }
    }

    private static String fields(List<?> values) {
        StringBuilder text = new StringBuilder();
        for (Object each : values) {
            FieldValue value = (FieldValue) each;
            // VisualVM adds fields of its own, such as <classLoader>.
            if (value.getField().getName().startsWith("<")) {
                continue;
            }
            text.append(' ').append(value.getField().getName()).append('=');
            text.append(each instanceof ObjectFieldValue
                    ? id(((ObjectFieldValue) each).getInstance())
                    : value.getValue());
        }
        return text.toString();
    }

    private static String id(Instance instance) {
        return instance == null ? "null" : Long.toHexString(instance.getInstanceId());
    }
}

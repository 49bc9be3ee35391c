import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.List;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** Rewrites all classes with ASM in the way that the shim rewrites them for METHOD_ENTRY and METHOD_EXIT. */
public final class AsmAgent implements ClassFileTransformer {
    /** The newest class file version that this version of ASM supports. */
    private static final int NEWEST = 64;

    public static void premain(String options, Instrumentation instrumentation) throws Exception {
        instrumentation.addTransformer(new AsmAgent(), true);
        List<Class<?>> loaded = new ArrayList<>();
        for (Class<?> type : instrumentation.getAllLoadedClasses()) {
            if (instrumentation.isModifiableClass(type)) {
                loaded.add(type);
            }
        }
        instrumentation.retransformClasses(loaded.toArray(new Class<?>[0]));
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> type, ProtectionDomain domain, byte[] file) {
        if (name == null || name.startsWith("org/objectweb/asm/") || name.startsWith("AsmAgent") || name.equals("Tracker")) {
            return null;
        }
        try {
            return rewrite(file);
        } catch (ClassCircularityError e) {
            // Classes that ASM itself is loading are not rewritten.
            return null;
        } catch (Throwable e) {
            System.err.println(name + ": " + e);
            return null;
        }
    }

    static byte[] rewrite(byte[] file) {
        int major = file[7];
        if (major > NEWEST) {
            file = file.clone();
            file[7] = NEWEST;
        }
        ClassReader reader = new ClassReader(file);
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        reader.accept(new ClassVisitor(Opcodes.ASM9, writer) {
            @Override
            public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] thrown) {
                MethodVisitor method = super.visitMethod(access, name, descriptor, signature, thrown);
                boolean hasCode = (access & (Opcodes.ACC_ABSTRACT | Opcodes.ACC_NATIVE)) == 0;
                return hasCode ? new Probes(method, name.equals("<init>")) : method;
            }
        }, 0);
        byte[] result = writer.toByteArray();
        result[7] = (byte) major;
        return result;
    }

    /** Inserts calls at the entry, before each return and, except in constructors, where an exception leaves the method. */
    private static final class Probes extends MethodVisitor {
        private final boolean isConstructor;
        private final Label start = new Label();
        private boolean hasCode;

        Probes(MethodVisitor method, boolean isConstructor) {
            super(Opcodes.ASM9, method);
            this.isConstructor = isConstructor;
        }

        private void call(String name) {
            super.visitIntInsn(Opcodes.SIPUSH, 300);
            super.visitMethodInsn(Opcodes.INVOKESTATIC, "Tracker", name, "(I)V", false);
        }

        @Override
        public void visitCode() {
            super.visitCode();
            call("enter");
            super.visitLabel(start);
        }

        @Override
        public void visitInsn(int opcode) {
            hasCode = true;
            if (opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN) {
                call("exit");
            }
            super.visitInsn(opcode);
        }

        @Override
        public void visitMaxs(int stack, int locals) {
            if (!isConstructor && hasCode) {
                Label end = new Label();
                super.visitLabel(end);
                super.visitFrame(Opcodes.F_FULL, 0, new Object[0], 1, new Object[] {"java/lang/Throwable"});
                super.visitTryCatchBlock(start, end, end, null);
                call("exit");
                super.visitInsn(Opcodes.ATHROW);
            }
            super.visitMaxs(stack, locals);
        }
    }
}

/** A method of the greatest possible length, and a short one. */
final class Large {
    /** Code of this length does nothing, and returns 5. */
    private static byte[] code(int length) {
        byte[] code = new byte[length];
        code[length - 2] = 0x08;
        code[length - 1] = (byte) 0xac;
        return code;
    }

    public static void main(String[] arguments) throws Exception {
        FreshClass file = new FreshClass("Made", 49);
        file.method("large", "()I", 1, 0, code(65_535));
        file.method("small", "()I", 1, 0, code(20));
        Class<?> made = new ClassFile.Loader().define(file.file());
        for (String name : new String[] {"large", "small", "small"}) {
            System.out.println("expect value=" + made.getMethod(name).invoke(null));
        }
    }
}

/** Calls methods of Class objects that nobody has heard of. */
final class Mirrors {
    static final class Unlinked {}

    public static void main(String[] arguments) {
        StringBuilder names = new StringBuilder();
        for (Class<?> type : new Class<?>[] {int.class, int[][].class, Unlinked.class}) {
            type.isArray();
            names.append(type.getName()).append(' ');
        }
        System.out.println("expect names=\"" + names.toString().trim() + "\"");
    }
}

/** Writes invoices with many lines, and does it slowly: something to profile. */
public final class Invoices {
    public static void main(String[] arguments) {
        int invoices = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 20000;
        long characters = 0;
        for (int i = 0; i < invoices; i++) {
            characters += invoice(40).length();
        }
        System.out.println(invoices + " invoices, " + characters + " characters");
    }

    static String invoice(int lines) {
        String text = "";
        for (int line = 1; line <= lines; line++) {
            text += line(line);
        }
        return text;
    }

    static String line(int number) {
        long cents = price(number);
        return number + "\tarticle " + number + "\t" + cents / 100 + "." + cents % 100 / 10 + cents % 10 + "\n";
    }

    static long price(int number) {
        long price = number;
        for (int i = 0; i < 500; i++) {
            price = (price * 31 + i) % 99991;
        }
        return price;
    }
}

/** Returns by an exception, too: the example of the porting guide for inserted calls. */
class Account {
    static int balance;

    static int add(int amount) {
        if (amount < 0)
            throw new IllegalArgumentException();
        balance += amount;
        return balance;
    }

    public static void main(String[] arguments) {
        add(20);
        try {
            add(-1);
        } catch (IllegalArgumentException e) {
            System.out.println(add(22));
        }
    }
}

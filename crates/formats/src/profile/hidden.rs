//! Hidden classes, such as those of lambda expressions: their names have a part that differs in each run of the
//! VM.

/// Returns the name of a class without that part: `App$$Lambda` of `App$$Lambda/0x00007f63880d75f8` and, up to JDK 20, of
/// `App$$Lambda$14/0x0000000800c03000`.
pub fn without_address(name: &str) -> &str {
    let Some((class, address)) = name.rsplit_once("0x") else { return name };
    let Some(class) = class.strip_suffix(['/', '.', '+']) else { return name };
    // JFR adds a second number.
    let is_digit = |digit: char| digit.is_ascii_hexdigit() || digit == '.';
    if address.is_empty() || !address.chars().all(is_digit) {
        return name;
    }
    match class.trim_end_matches(|c: char| c.is_ascii_digit()).strip_suffix('$') {
        Some(lambda) if lambda.ends_with("$$Lambda") => lambda,
        _ => class,
    }
}

#[cfg(test)]
mod tests {
    use super::without_address;

    #[test]
    fn hidden_classes_lose_their_addresses() {
        for (name, expected) in [
            ("App$$Lambda/0x00007f63880d75f8", "App$$Lambda"),
            ("App$$Lambda$14/0x0000000800c03000", "App$$Lambda"),
            ("App$$Lambda$64+0x00007fcd6c0416f8.1860250540", "App$$Lambda"),
            ("java.lang.invoke.LambdaForm$MH.0x00000008", "java.lang.invoke.LambdaForm$MH"),
            ("App$1", "App$1"),
            ("App$$Lambda$14", "App$$Lambda$14"),
            ("App/0x", "App/0x"),
            ("App/0xyz", "App/0xyz"),
            ("App0x12", "App0x12"),
            ("", ""),
        ] {
            assert_eq!(without_address(name), expected);
        }
    }
}

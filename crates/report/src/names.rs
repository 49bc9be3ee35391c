//! Names of types as Java's source has them.

/// `int[]` of `[I`, `java.lang.String[][]` of `[[Ljava.lang.String;`. What is no name of an array stays as it is.
pub(crate) fn of_type(name: &str) -> String {
    let element = name.trim_start_matches('[');
    let dimensions = name.len() - element.len();
    if dimensions == 0 {
        return name.to_owned();
    }
    let element = match element {
        "Z" => "boolean",
        "B" => "byte",
        "C" => "char",
        "S" => "short",
        "I" => "int",
        "J" => "long",
        "F" => "float",
        "D" => "double",
        _ => match element.strip_prefix('L').and_then(|class| class.strip_suffix(';')) {
            Some(class) => class,
            None => return name.to_owned(),
        },
    };
    format!("{element}{}", "[]".repeat(dimensions))
}

#[cfg(test)]
mod tests {
    use super::of_type;

    #[test]
    fn types_are_named_as_in_source() {
        for (name, expected) in [
            ("[I", "int[]"),
            ("[[Ljava.lang.String;", "java.lang.String[][]"),
            ("java.lang.String", "java.lang.String"),
            ("I", "I"),
            ("", ""),
            ("[", "["),
            ("[Lx", "[Lx"),
        ] {
            assert_eq!(of_type(name), expected);
        }
    }
}

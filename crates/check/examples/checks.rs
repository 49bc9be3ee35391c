//! Prints `docs/checks.md`.

fn main() {
    print!("{}", check::rules::document());
}

//! Prints `docs/reference/checks.md`.

fn main() {
    print!("{}", jvmpi_layers::check::rules::document());
}

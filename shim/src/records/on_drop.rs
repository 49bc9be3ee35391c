//! Cleanup that also runs if a panic unwinds.

/// Calls the function when it is dropped, also by a panic.
pub struct OnDrop<F: FnMut()>(pub F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

//! The classes that a thread has loaded and that may not be announced yet.
//!
//! A class is loaded first and linked later, by any thread that needs it, or never. JVMTI provides the
//! data for CLASS_LOAD only after that.

use super::class::Class;
use crate::lock::Lock;
use std::sync::Arc;

/// The loaded classes of one thread. Only the thread itself uses them.
#[derive(Default)]
pub struct Loaded(Lock<State>);

#[derive(Default)]
struct State {
    /// Classes that can be linked at once.
    to_link: Vec<Arc<Class>>,
    is_linking: bool,
    /// Classes that the program has to link. At the thread's end the shim links the rest.
    waiting: Vec<Arc<Class>>,
    /// The length of `waiting` at which classes that need no announcement are removed.
    limit: usize,
}

/// The smallest limit. The check is not worth it for fewer classes.
const FEW: usize = 64;

impl Loaded {
    /// Adds a class that the thread has loaded and that can be linked at once.
    pub fn add_to_link(&self, class: Arc<Class>) {
        self.0.lock().to_link.push(class);
    }

    /// Links all classes that can be linked, and those that linking loads. They are linked one after the
    /// other, not nested. Classes that `link` cannot link now wait as in [`Self::add`].
    pub fn link_all(&self, link: impl Fn(&Class) -> bool, is_over: impl Fn(&Class) -> bool) {
        if std::mem::replace(&mut self.0.lock().is_linking, true) {
            return;
        }
        let linking = Linking(self);
        while let Some(class) = linking.next() {
            if !link(&class) {
                self.add(class, &is_over);
            }
        }
    }

    /// Adds a loaded class. `is_over` returns true for a class that needs no announcement any more.
    pub fn add(&self, class: Arc<Class>, is_over: impl Fn(&Class) -> bool) {
        let over: Vec<_> = {
            let mut state = self.0.lock();
            let over = if state.waiting.len() >= state.limit {
                let (over, waiting) = state.waiting.drain(..).partition(|class| is_over(class));
                state.waiting = waiting;
                state.limit = FEW.max(2 * state.waiting.len());
                over
            } else {
                Vec::new()
            };
            state.waiting.push(class);
            over
        };
        // Outside the lock: dropping the last `Arc` of a class calls the VM.
        drop(over);
    }

    /// Takes all waiting classes.
    pub fn take(&self) -> Vec<Arc<Class>> {
        std::mem::take(&mut self.0.lock().waiting)
    }
}

/// The thread links its loaded classes until this is dropped.
struct Linking<'a>(&'a Loaded);

impl Linking<'_> {
    fn next(&self) -> Option<Arc<Class>> {
        self.0.0.lock().to_link.pop()
    }
}

impl Drop for Linking<'_> {
    fn drop(&mut self) {
        self.0.0.lock().is_linking = false;
    }
}

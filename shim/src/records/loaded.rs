//! The classes that a thread has loaded and that are perhaps not announced yet.
//!
//! A class is loaded first and linked later, by any thread that needs it, or never. Only then JVMTI
//! gives what CLASS_LOAD has to contain.

use super::class::Class;
use crate::lock::Lock;
use std::sync::Arc;

/// The classes of one thread. Only the thread itself uses this.
#[derive(Default)]
pub struct Loaded(Lock<State>);

#[derive(Default)]
struct State {
    /// Classes that can be linked at once.
    to_link: Vec<Arc<Class>>,
    is_linking: bool,
    /// Classes that the program has to link, else the shim at the thread's end.
    waiting: Vec<Arc<Class>>,
    /// The length of `waiting` at which classes that are over are removed.
    limit: usize,
}

/// The smallest limit: fewer classes are not worth the check.
const FEW: usize = 64;

impl Loaded {
    /// The thread has loaded a class, which can be linked at once.
    pub fn add_to_link(&self, class: Arc<Class>) {
        self.0.lock().to_link.push(class);
    }

    /// Has all classes linked that can be, also those that this loads: one after the other, not one
    /// inside the other. Classes that `link` cannot link now wait, as in [`Self::add`].
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

    /// The thread has loaded a class. `is_over` is true for a class that needs no announcement any more.
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

    /// Takes all that wait.
    pub fn take(&self) -> Vec<Arc<Class>> {
        std::mem::take(&mut self.0.lock().waiting)
    }
}

/// The thread links what it has loaded, until this is dropped.
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

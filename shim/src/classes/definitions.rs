//! The method numbers of classes that the current thread is defining.
//!
//! A class is rewritten before it exists, and it may never exist: its superclass may be missing, or
//! another thread may define it first. The class gets the numbers as soon as it is loaded. Once the stack
//! has unwound past a definition, it can no longer succeed, and its numbers are returned.

use super::method_numbers;
use crate::classes;
use crate::records::class;
use jni_sys::jclass;
use jvm::Jni;
use std::cell::RefCell;
use std::mem;
use std::ops::Range;

thread_local! {
    static UNDER_WAY: RefCell<Definitions> = const { RefCell::new(Definitions(Vec::new())) };
}

/// A class whose file the VM has received.
pub struct Definition {
    /// The class's name in class files.
    pub name: Vec<u8>,
    /// The hash of its methods' names and order.
    pub shape: u64,
    /// The numbers of its methods.
    pub numbers: Range<usize>,
    /// The address of a frame of the definition. Nested definitions, of classes that this one needs, are
    /// made deeper in the stack, at lower addresses.
    pub frame: usize,
}

/// Records that the current thread defines a class whose loader is not the boot loader.
pub fn begin(definition: Definition) {
    let over = UNDER_WAY.with_borrow_mut(|under_way| under_way.begin(definition));
    method_numbers::give_back(over);
}

/// Gives a class that the current thread has loaded its numbers, if this thread has defined it.
pub fn end(jni: Jni, class: jclass) {
    if UNDER_WAY.with_borrow(|under_way| under_way.0.is_empty()) {
        return;
    }
    let Ok(signature) = jvm::get().jvmti.class_signature(class) else { return };
    let name = class::name_in_signature(signature.to_bytes());
    let (definition, over) = UNDER_WAY.with_borrow_mut(|under_way| under_way.end(name));
    method_numbers::give_back(over);
    if let Some(Definition { shape, numbers, .. }) = definition {
        // If the class has no record, the numbers stay in use for ever.
        let _ = classes::of(jni, class).map(|class| class.own_numbers(shape, numbers));
    }
}

struct Definitions(Vec<Definition>);

impl Definitions {
    /// Adds a definition. Returns the numbers of definitions that have ended.
    fn begin(&mut self, new: Definition) -> Vec<Range<usize>> {
        let over = self.0.iter().position(|definition| definition.frame <= new.frame);
        let over = self.0.split_off(over.unwrap_or(self.0.len()));
        self.0.push(new);
        numbers(over)
    }

    /// Returns the definition of the class with this name, which has succeeded, and the numbers of the
    /// nested definitions, which have ended. If the thread defines two classes of that name for different
    /// loaders, it is unknown which one is loaded, and neither gets its numbers.
    fn end(&mut self, name: &[u8]) -> (Option<Definition>, Vec<Range<usize>>) {
        let is_it = |definition: &Definition| definition.name == name;
        let Some(last) = self.0.iter().rposition(is_it) else { return (None, Vec::new()) };
        let over = self.0.split_off(last + 1);
        let found = self.0.pop();
        let outer = self.0.len();
        self.0.retain(|definition| !is_it(definition));
        (found.filter(|_| outer == self.0.len()), numbers(over))
    }
}

/// Returns the numbers when a thread ends, because none of its definitions can succeed any more.
impl Drop for Definitions {
    fn drop(&mut self) {
        method_numbers::give_back(numbers(mem::take(&mut self.0)));
    }
}

fn numbers(definitions: Vec<Definition>) -> Vec<Range<usize>> {
    definitions.into_iter().map(|definition| definition.numbers).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(name: &str, first: usize, frame: usize) -> Definition {
        Definition { name: name.into(), shape: 0, numbers: first..first + 2, frame }
    }

    fn firsts(numbers: Vec<Range<usize>>) -> Vec<usize> {
        numbers.into_iter().map(|numbers| numbers.start).collect()
    }

    fn first(definition: Option<Definition>) -> Option<usize> {
        definition.map(|definition| definition.numbers.start)
    }

    #[test]
    fn failed_definition_ends_when_its_frame_is_gone() {
        let mut under_way = Definitions(Vec::new());
        under_way.begin(definition("Outer", 0, 900));
        under_way.begin(definition("Failing", 2, 700));
        assert_eq!(firsts(under_way.begin(definition("Failing", 4, 700))), [2]);
        assert_eq!(firsts(under_way.begin(definition("Other", 6, 800))), [4]);
        assert_eq!(firsts(under_way.begin(definition("Next", 8, 1000))), [0, 6]);
        assert_eq!(first(under_way.end(b"Next").0), Some(8));
    }

    #[test]
    fn nobody_gets_the_numbers_of_classes_of_one_name() {
        let mut under_way = Definitions(Vec::new());
        under_way.begin(definition("Same", 0, 900));
        under_way.begin(definition("Same", 2, 700));
        assert!(under_way.end(b"Same").0.is_none());
        assert!(under_way.end(b"Same").0.is_none());
        assert_eq!(firsts(under_way.begin(definition("Next", 4, 1000))), []);
    }
}

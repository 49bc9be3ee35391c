//! Editing a class.

use std::collections::BTreeMap;

use crate::bytes::Write;
use crate::rewrite::{At, Edit, Scratch, rewrite};
use crate::snippet::Snippet;
use crate::{ClassFile, Code, Constants, Skip};

/// Collects edits to the methods of a class and writes the edited class.
#[derive(Debug)]
pub struct Editor<'c> {
    class: &'c ClassFile<'c>,
    snippet: Snippet,
    edits: Vec<Edit>,
    faults: BTreeMap<usize, Skip>,
    /// The number of local variables that each method gets.
    added_locals: u16,
}

/// An edited class.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The new class file.
    pub bytes: Vec<u8>,
    /// The methods, by their place in the file's order, that had edits and are as they were.
    pub skipped: Vec<(usize, Skip)>,
}

impl<'c> Editor<'c> {
    /// An editor without any edits yet.
    #[must_use]
    pub fn new(class: &'c ClassFile<'c>) -> Self {
        Self {
            class,
            snippet: Snippet::new(Constants::new(class.constant_pool().len())),
            edits: Vec::new(),
            faults: BTreeMap::new(),
            added_locals: 0,
        }
    }

    /// Gives each method that has code this many more local variables, which nothing uses. So all methods differ
    /// from those of a version that was given another number, whether they have edits or not.
    pub fn add_locals(&mut self, count: u16) -> &mut Self {
        self.added_locals = count;
        self
    }

    /// The constants that inserted code refers to.
    pub fn constants(&mut self) -> &mut Constants {
        &mut self.snippet.constants
    }

    /// The method at a place in the file's order, `None` if it does not exist or has no code.
    pub fn method(&mut self, index: usize) -> Option<MethodEditor<'_>> {
        self.class.method(index)?.has_code().then_some(MethodEditor {
            method: index,
            snippet: &mut self.snippet,
            edits: &mut self.edits,
            faults: &mut self.faults,
        })
    }

    /// Writes the class with all edits made.
    ///
    /// Everything outside the edited methods' code is copied byte for byte, but for the numbers of local variables
    /// ([`add_locals`](Self::add_locals)); new constants stand behind the old ones. A method whose edits cannot be
    /// made is copied as it was and reported.
    #[must_use]
    pub fn finish(self) -> Rewritten {
        let Self { class, mut snippet, mut edits, faults, added_locals } = self;
        let bytes = class.bytes();
        edits.sort_by_key(|edit| edit.method);

        let mut body = Body {
            class,
            bytes: Vec::with_capacity(bytes.len() + bytes.len() / 2),
            copied: class.pool_end(),
            added_locals,
        };
        let mut scratch = Scratch::default();
        let mut skipped = faults.clone();
        for edits in edits.chunk_by(|one, next| one.method == next.method) {
            let method = edits[0].method;
            if faults.contains_key(&method) {
                continue;
            }
            body.copy_methods(method);
            let mark = body.bytes.len();
            if let Err(reason) = body.replace_code(method, edits, &mut snippet, &mut scratch) {
                body.bytes.truncate(mark);
                skipped.insert(method, reason);
            }
        }
        let body = body.finish();

        let constants = &snippet.constants;
        let added = constants.bytes();
        let mut out = Vec::with_capacity(class.pool_end() + added.len() + body.len());
        out.extend_from_slice(&bytes[..8]);
        if added.is_empty() {
            out.extend_from_slice(&bytes[8..10]);
        } else {
            out.u2(constants.count());
        }
        out.extend_from_slice(&bytes[10..class.pool_end()]);
        out.extend_from_slice(added);
        out.extend_from_slice(&body);
        Rewritten { bytes: out, skipped: skipped.into_iter().collect() }
    }
}

/// So many local variables and more, as far as a u2 can count, or a u1.
fn more_locals(count: u16, added: u16, is_short: bool) -> u16 {
    let most = if is_short { u8::MAX.into() } else { u16::MAX };
    count.saturating_add(added).min(most).max(count)
}

/// What follows the constant pool, as far as it is written.
struct Body<'c> {
    class: &'c ClassFile<'c>,
    bytes: Vec<u8>,
    /// Up to where the original file is copied or replaced.
    copied: usize,
    added_locals: u16,
}

impl Body<'_> {
    /// Copies the methods up to this one that are not copied or replaced yet, as far as there is anything to be
    /// changed in them.
    fn copy_methods(&mut self, end: usize) {
        if self.added_locals == 0 {
            return;
        }
        let (class, original) = (self.class, self.class.bytes());
        for member in class.members().iter().take(end) {
            let Some(span) = member.code.clone().filter(|span| span.start >= self.copied) else {
                continue;
            };
            // Behind the attribute's name, its length and `max_stack`.
            let width = if class.has_old_code() { 1 } else { 2 };
            let at = span.start + 2 + 4 + width;
            let Some(count) = original.get(at..at + width) else { continue };
            self.bytes.extend_from_slice(&original[self.copied..at]);
            match *count {
                [count] => self.bytes.u1(more_locals(count.into(), self.added_locals, true) as u8),
                [high, low] => {
                    let count = u16::from_be_bytes([high, low]);
                    self.bytes.u2(more_locals(count, self.added_locals, false));
                }
                _ => {}
            }
            self.copied = at + width;
        }
    }

    fn replace_code(
        &mut self,
        method: usize,
        edits: &[Edit],
        snippet: &mut Snippet,
        scratch: &mut Scratch,
    ) -> Result<(), Skip> {
        let original = self.class.bytes();
        let span = self.class.members()[method].code.clone();
        let code = self.class.method(method).map(|method| method.code());
        let (Some(span), Some(mut code)) = (span, code.transpose()?.flatten()) else {
            return Ok(());
        };
        code.max_locals = more_locals(code.max_locals, self.added_locals, code.is_old_format());
        // Up to and with the attribute's name.
        self.bytes.extend_from_slice(&original[self.copied..span.start + 2]);
        self.write_code(&code, edits, snippet, scratch)?;
        self.copied = span.end;
        Ok(())
    }

    /// Writes length and contents of a `Code` attribute.
    fn write_code(
        &mut self,
        code: &Code<'_>,
        edits: &[Edit],
        snippet: &mut Snippet,
        scratch: &mut Scratch,
    ) -> Result<(), Skip> {
        let start = self.bytes.len();
        self.bytes.u4(0);
        rewrite(code, edits, snippet, scratch, &mut self.bytes)?;
        let length = u32::try_from(self.bytes.len() - start - 4).map_err(|_| Skip::TooLarge)?;
        self.bytes.set_u4(start, length);
        Ok(())
    }

    /// Copies the rest of the file.
    fn finish(mut self) -> Vec<u8> {
        self.copy_methods(self.class.members().len());
        let original = self.class.bytes();
        self.bytes.extend_from_slice(&original[self.copied..]);
        self.bytes
    }
}

/// The edits of one method.
///
/// Code is written by a closure that gets a [`Snippet`]:
///
/// ```
/// # fn edit(mut method: classfile::MethodEditor<'_>, enter: classfile::MethodRef) {
/// method.at_entry(|code| code.push_int(42).invoke_static(enter));
/// # }
/// ```
///
/// Several pieces for one place run in the order in which they were added.
#[derive(Debug)]
pub struct MethodEditor<'e> {
    method: usize,
    snippet: &'e mut Snippet,
    edits: &'e mut Vec<Edit>,
    faults: &'e mut BTreeMap<usize, Skip>,
}

impl MethodEditor<'_> {
    /// Inserts code that runs once when the method is entered, also if the method loops to its
    /// first instruction. In a constructor `this` cannot be used yet.
    pub fn at_entry(&mut self, code: impl FnOnce(&mut Snippet) -> &mut Snippet) -> &mut Self {
        self.add(At::Entry, code)
    }

    /// Inserts code that runs once as soon as `this` can be used: behind the call of `super()`
    /// or `this()` in a constructor, on entry in any other method, and in that of
    /// `java/lang/Object`.
    pub fn when_this_initialized(
        &mut self,
        code: impl FnOnce(&mut Snippet) -> &mut Snippet,
    ) -> &mut Self {
        self.add(At::Initialized, code)
    }

    /// Inserts code that runs before each return instruction, however it is reached. The result
    /// lies on the stack.
    pub fn before_returns(&mut self, code: impl FnOnce(&mut Snippet) -> &mut Snippet) -> &mut Self {
        self.add(At::Return, code)
    }

    /// Inserts code that runs when an exception leaves the method, which then leaves it. The
    /// exception lies on the stack.
    ///
    /// Of local variables the code can load `this` only, in a method that keeps it where it is;
    /// other methods are left alone. The method's own handlers come first. Not covered is what was
    /// inserted at the entry, nor a return with what was inserted before it, so that a thread that
    /// runs the entry code to its end runs either the code before a return or this. If there is code
    /// for [`when_this_initialized`](Self::when_this_initialized) but none for the entry, a
    /// constructor is covered only from behind that code.
    pub fn on_throw(&mut self, code: impl FnOnce(&mut Snippet) -> &mut Snippet) -> &mut Self {
        self.add(At::Throw, code)
    }

    /// Inserts code that runs before the instruction at an index of the original code, however
    /// it is reached. The instruction's operands lie on the stack.
    pub fn before(
        &mut self,
        bci: u16,
        code: impl FnOnce(&mut Snippet) -> &mut Snippet,
    ) -> &mut Self {
        self.add(At::Before(bci), code)
    }

    /// Inserts code that runs when the instruction at an index of the original code has finished
    /// and control goes on behind it. The instruction's result lies on the stack.
    pub fn after(
        &mut self,
        bci: u16,
        code: impl FnOnce(&mut Snippet) -> &mut Snippet,
    ) -> &mut Self {
        self.add(At::After(bci), code)
    }

    /// Inserts code that runs when an exception has come to a handler, given by the index of its
    /// first instruction: one of [`Code::catches`]. The exception lies on the stack.
    ///
    /// If the handler catches everything, as compilers write it for `finally` and `synchronized`, an exception from the
    /// inserted code replaces the one that was caught, and the handler continues. A handler that covers itself, as
    /// for `synchronized`, does not start again. Any other handler is left by an exception from the inserted code.
    pub fn on_catch(
        &mut self,
        handler: u16,
        code: impl FnOnce(&mut Snippet) -> &mut Snippet,
    ) -> &mut Self {
        self.add(At::Catch(handler), code)
    }

    fn add(&mut self, at: At, code: impl FnOnce(&mut Snippet) -> &mut Snippet) -> &mut Self {
        match self.snippet.write(code) {
            Ok(piece) => self.edits.push(Edit { method: self.method, at, piece }),
            Err(fault) => {
                self.faults.entry(self.method).or_insert(fault);
            }
        }
        self
    }
}

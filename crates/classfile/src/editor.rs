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
    /// The number of local variables that each method gets additionally.
    added_locals: u16,
}

/// An edited class.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The new class file.
    pub bytes: Vec<u8>,
    /// The methods that had edits and are unchanged, by their index in file order.
    pub skipped: Vec<(usize, Skip)>,
}

impl<'c> Editor<'c> {
    /// Creates an editor without edits.
    #[must_use]
    pub fn new(class: &'c ClassFile<'c>) -> Self {
        Self {
            class,
            snippet: Snippet::new(Constants::new(class.constant_pool())),
            edits: Vec::new(),
            faults: BTreeMap::new(),
            added_locals: 0,
        }
    }

    /// Adds `count` unused local variables to each method with code. All methods then differ from those of a version
    /// with another number, with or without edits.
    pub fn add_locals(&mut self, count: u16) -> &mut Self {
        self.added_locals = count;
        self
    }

    /// Returns the constants that inserted code refers to.
    pub fn constants(&mut self) -> &mut Constants {
        &mut self.snippet.constants
    }

    /// Returns the method with this index in file order, `None` if it does not exist or has no code.
    pub fn method(&mut self, index: usize) -> Option<MethodEditor<'_>> {
        self.class.method(index)?.has_code().then_some(MethodEditor {
            method: index,
            snippet: &mut self.snippet,
            edits: &mut self.edits,
            faults: &mut self.faults,
        })
    }

    /// Writes the class with all edits applied.
    ///
    /// Everything outside the edited methods' code is copied byte for byte, except the numbers of local variables
    /// ([`add_locals`](Self::add_locals)). New constants follow the old ones. A method whose edits cannot be applied is
    /// copied unchanged and reported.
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

/// Returns the increased number of local variables, limited to a u2, or to a u1 with `is_short`.
fn more_locals(count: u16, added: u16, is_short: bool) -> u16 {
    let most = if is_short { u8::MAX.into() } else { u16::MAX };
    count.saturating_add(added).min(most).max(count)
}

/// The part of the new file after the constant pool that is written so far.
struct Body<'c> {
    class: &'c ClassFile<'c>,
    bytes: Vec<u8>,
    /// The offset up to which the original file is copied or replaced.
    copied: usize,
    added_locals: u16,
}

impl Body<'_> {
    /// Copies the methods up to this one that are not copied or replaced yet, if they need changes.
    fn copy_methods(&mut self, end: usize) {
        if self.added_locals == 0 {
            return;
        }
        let (class, original) = (self.class, self.class.bytes());
        for member in class.members().iter().take(end) {
            let Some(span) = member.code.clone().filter(|span| span.start >= self.copied) else {
                continue;
            };
            // After the attribute's name, its length and `max_stack`.
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
        // Up to and including the attribute's name.
        self.bytes.extend_from_slice(&original[self.copied..span.start + 2]);
        self.write_code(&code, edits, snippet, scratch)?;
        self.copied = span.end;
        Ok(())
    }

    /// Writes the length and contents of a `Code` attribute.
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
/// A closure that receives a [`Snippet`] writes the code:
///
/// ```
/// # fn edit(mut method: jvmpi_classfile::MethodEditor<'_>, enter: jvmpi_classfile::MethodRef) {
/// method.at_entry(|code| code.push_int(42).invoke_static(enter));
/// # }
/// ```
///
/// Several pieces for one place run in the order of their addition.
#[derive(Debug)]
pub struct MethodEditor<'e> {
    method: usize,
    snippet: &'e mut Snippet,
    edits: &'e mut Vec<Edit>,
    faults: &'e mut BTreeMap<usize, Skip>,
}

impl MethodEditor<'_> {
    /// Inserts code that runs once when the method is entered, also if the method loops to its first instruction. In a
    /// constructor, the code cannot use `this` yet.
    pub fn at_entry(&mut self, code: impl FnOnce(&mut Snippet) -> &mut Snippet) -> &mut Self {
        self.add(At::Entry, code)
    }

    /// Inserts code that runs once as soon as `this` can be used. In a constructor this is after the call of `super()`
    /// or `this()`; in any other method, and in the constructor of `java/lang/Object`, it is at the entry.
    pub fn when_this_initialized(
        &mut self,
        code: impl FnOnce(&mut Snippet) -> &mut Snippet,
    ) -> &mut Self {
        self.add(At::Initialized, code)
    }

    /// Inserts code that runs before each return instruction, however it is reached. The result is on the stack.
    pub fn before_returns(&mut self, code: impl FnOnce(&mut Snippet) -> &mut Snippet) -> &mut Self {
        self.add(At::Return, code)
    }

    /// Inserts code that runs when an exception leaves the method; the exception then leaves it. The exception is on
    /// the stack.
    ///
    /// The only local variable that the code can load is `this`. Methods that overwrite it are then skipped. The
    /// method's own handlers come first. The code at the entry is not covered, nor are returns with the code before
    /// them. A thread that completes the entry code therefore runs either the code before a return or this code. With
    /// code for [`when_this_initialized`](Self::when_this_initialized) but none for the entry, a constructor is covered
    /// only after that code.
    pub fn on_throw(&mut self, code: impl FnOnce(&mut Snippet) -> &mut Snippet) -> &mut Self {
        self.add(At::Throw, code)
    }

    /// Inserts code that runs before the instruction at an index of the original code, however it is reached. The
    /// instruction's operands are on the stack.
    pub fn before(
        &mut self,
        bci: u16,
        code: impl FnOnce(&mut Snippet) -> &mut Snippet,
    ) -> &mut Self {
        self.add(At::Before(bci), code)
    }

    /// Inserts code that runs when the instruction at an index of the original code has finished and control continues
    /// after it. The instruction's result is on the stack.
    pub fn after(
        &mut self,
        bci: u16,
        code: impl FnOnce(&mut Snippet) -> &mut Snippet,
    ) -> &mut Self {
        self.add(At::After(bci), code)
    }

    /// Inserts code that runs when an exception has reached a handler. `handler` is the index of its first instruction,
    /// from [`Code::catches`]. The exception is on the stack.
    ///
    /// If the handler catches everything, as for `finally` and `synchronized`, an exception from the inserted code
    /// replaces the caught one, and the handler continues. A handler that covers itself, as for `synchronized`, does
    /// not start again. An exception from code inserted at any other handler leaves the handler.
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

//! Reads, rewrites and writes Java class files.
//!
//! The crate splices code into methods and leaves everything else as it is: the constant pool is
//! appended to, the `Code` attributes of edited methods are written anew, all other bytes are
//! copied. It knows every version from 45 to the newest one, trusts nothing that it reads, and
//! needs time in proportion to the file's length. It knows nothing of a running JVM.
//!
//! ```
//! # fn main() -> Result<(), classfile::Error> {
//! # fn instrument(bytes: &[u8]) -> Result<Vec<u8>, classfile::Error> {
//! use classfile::{ClassFile, Editor};
//!
//! let class = ClassFile::parse(bytes)?;
//! let mut editor = Editor::new(&class);
//! let enter = editor.constants().method_ref("Tracker", "enter", "(I)V")?;
//! let exit = editor.constants().method_ref("Tracker", "exit", "(I)V")?;
//! for method in class.methods() {
//!     let id = method.index() as i32;
//!     // Abstract and native methods have no code.
//!     let Some(mut edits) = editor.method(method.index()) else { continue };
//!     edits
//!         .at_entry(|code| code.push_int(id).invoke_static(enter))
//!         .before_returns(|code| code.push_int(id).invoke_static(exit))
//!         .on_throw(|code| code.push_int(id).invoke_static(exit));
//! }
//! let rewritten = editor.finish();
//! for (method, reason) in &rewritten.skipped {
//!     eprintln!("method {method} was left alone: {reason}");
//! }
//! # Ok(rewritten.bytes)
//! # }
//! # let _ = instrument(&[]);
//! # Ok(())
//! # }
//! ```
//!
//! # Where code can go
//!
//! | place | runs |
//! |---|---|
//! | [`at_entry`](MethodEditor::at_entry) | once a call, also if the method loops to its first instruction |
//! | [`when_this_initialized`](MethodEditor::when_this_initialized) | once a call, as soon as `this` may be passed on: in a constructor behind `super()` or `this()` |
//! | [`before_returns`](MethodEditor::before_returns) | before every return, also if branched to |
//! | [`on_throw`](MethodEditor::on_throw) | when an exception leaves the method |
//! | [`on_catch`](MethodEditor::on_catch) | when an exception has come to a handler, before the handler's own code |
//! | [`before`](MethodEditor::before), [`after`](MethodEditor::after) | around any instruction, with its operands or its result on the stack |
//!
//! Inserted code loads, duplicates and drops values, reads static fields and calls static methods,
//! and can stand behind a flag ([`Snippet::guard`]). To see a new object, put code behind the
//! constructor call that [`Code::initializations`] finds for its `new`: before that, the verifier
//! lets nobody have it; what comparisons of it yield, [`Code::uninitialized_comparisons`] says.
//!
//! A class that is there for nobody else is written with a [`ClassBuilder`](builder::ClassBuilder).
//!
//! A closure that writes code can be made once and used in several places if a function returns
//! it, so that its type is known: `fn probe(..) -> impl Fn(&mut Snippet) -> &mut Snippet + Copy`.
//!
//! # What cannot be covered
//!
//! In classes of version 50 and later no handler may cover a constructor's call of `super()` or
//! `this()` itself: the verifiers want the handler's frame to hold `this` both uninitialized and
//! initialized. If that call throws, a constructor that was entered is left unseen. Who counts
//! entries and exits takes a later exit of an outer method for the exit of that constructor too,
//! or lets the constructor count as entered only when `this` is initialized.
//!
//! # What is adjusted
//!
//! Branches (those that no longer reach their target become `goto_w`, `jsr_w` or an inverted
//! condition around a `goto_w`), the padding of switches, exception tables, `LineNumberTable`,
//! `LocalVariableTable`, `LocalVariableTypeTable`, `StackMapTable`, type annotations,
//! `max_stack`. `StackMap`, which only CLDC reads, is dropped from edited methods. Methods that lack
//! frames which they need get none: a JVM that trusts a class need not keep them. Attributes that
//! the specification does not know are copied; if they hold bytecode indices, those go stale.
//!
//! A method that would exceed 65,535 bytes, or whose class has no room for the constants, is left
//! alone and reported; the rest of the class is edited all the same.

#![forbid(unsafe_code)]

mod attribute;
pub mod builder;
mod bytes;
mod class_file;
mod code;
mod comparison;
mod constant_pool;
mod constants;
mod cover;
mod descriptor;
mod editor;
mod error;
mod flow;
mod frame;
mod initialization;
mod join;
mod layout;
pub mod opcode;
mod rewrite;
mod snippet;
mod stack_map;
mod tables;

pub use attribute::{Attribute, Attributes};
pub use class_file::{ClassFile, Field, Method, access};
pub use code::{Code, Handler, Instruction, Instructions, Switch};
pub use comparison::UninitializedComparison;
pub use constant_pool::{ConstantPool, MemberRef};
pub use constants::{Constants, FieldRef, MethodRef};
pub use descriptor::{Kind, parameters};
pub use editor::{Editor, MethodEditor, Rewritten};
pub use error::{Error, Skip};
pub use initialization::{Initialization, Place, Uninitialized};
pub use snippet::Snippet;

//! Reads, rewrites and writes Java class files.
//!
//! The crate inserts code into methods and leaves everything else unchanged. It appends to the
//! constant pool, rewrites the `Code` attributes of edited methods, and copies all other bytes. It
//! supports every version from 45 to the newest one, trusts no input, and needs time proportional to
//! the file's length. It does not use a running JVM.
//!
//! ```
//! # fn main() -> Result<(), jvmpi_classfile::Error> {
//! # fn instrument(bytes: &[u8]) -> Result<Vec<u8>, jvmpi_classfile::Error> {
//! use jvmpi_classfile::{ClassFile, Editor};
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
//! # Insertion points
//!
//! | place | runs |
//! |---|---|
//! | [`at_entry`](MethodEditor::at_entry) | once per call, also if the method loops to its first instruction |
//! | [`when_this_initialized`](MethodEditor::when_this_initialized) | once per call, as soon as `this` can be an argument (in a constructor after `super()` or `this()`) |
//! | [`before_returns`](MethodEditor::before_returns) | before every return, also if branched to |
//! | [`on_throw`](MethodEditor::on_throw) | when an exception leaves the method |
//! | [`on_catch`](MethodEditor::on_catch) | at the start of an exception handler, before the handler's own code |
//! | [`before`](MethodEditor::before), [`after`](MethodEditor::after) | around any instruction, with its operands or its result on the stack |
//!
//! Inserted code loads, duplicates and drops values, reads static fields and calls static methods.
//! It can be guarded by a flag ([`Snippet::guard`]). To see a new object, put code after the
//! constructor call that [`Code::initializations`] finds for its `new`: before it, the verifier does
//! not permit passing the object. [`Code::uninitialized_comparisons`] returns the results of its
//! comparisons.
//!
//! A [`ClassBuilder`](builder::ClassBuilder) writes new classes.
//!
//! A function can return a closure that writes code, so that its type is known and it can be used in
//! several places: `fn probe(..) -> impl Fn(&mut Snippet) -> &mut Snippet + Copy`.
//!
//! # Uncovered calls
//!
//! In classes of version 50 and later, no handler may cover a constructor's call of `super()` or
//! `this()`: the verifiers require the handler's frame to hold `this` both uninitialized and
//! initialized. If that call throws, no code reports the constructor's exit. There are two ways to
//! count entries and exits: treat a later exit of an outer method as the exit of that constructor
//! too, or count a constructor as entered only when `this` is initialized.
//!
//! # Adjustments
//!
//! Branches are adjusted: those that no longer reach their target become `goto_w`, `jsr_w` or an
//! inverted condition around a `goto_w`. Also adjusted are the padding of switches, exception
//! tables, `LineNumberTable`, `LocalVariableTable`, `LocalVariableTypeTable`, `StackMapTable`, type
//! annotations and `max_stack`. `StackMap`, which only CLDC reads, is dropped from edited methods.
//! Methods that lack required frames get none, because a JVM does not keep the frames of a trusted
//! class. Attributes unknown to the specification are copied; bytecode indices in them become stale.
//!
//! A method that would exceed 65,535 bytes, or whose class has no room for the constants, is left
//! unchanged and reported. The rest of the class is still edited.

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

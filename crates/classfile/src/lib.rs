//! Reads, rewrites and writes Java class files.

#![forbid(unsafe_code)]

mod attribute;
mod bytes;
mod class_file;
mod code;
mod constant_pool;
mod constants;
mod descriptor;
mod editor;
mod error;
mod flow;
mod frame;
mod initialization;
mod layout;
mod native;
pub mod opcode;
mod rewrite;
mod snippet;
mod stack_map;
mod tables;

pub use attribute::{Attribute, Attributes};
pub use class_file::{ClassFile, Field, Method, access};
pub use code::{Code, Handler, Instruction, Instructions, Switch};
pub use constant_pool::{ConstantPool, MemberRef};
pub use constants::{Constants, FieldRef, MethodRef};
pub use descriptor::Kind;
pub use editor::{Editor, MethodEditor, Rewritten};
pub use error::{Error, Skip};
pub use initialization::{Initialization, Place, Uninitialized};
pub use snippet::Snippet;

//! Methods. A method's ID is its `jmethodID`; CLASS_LOAD of its class defines it.

use crate::classes;
use crate::records::class::Class;
use jni_sys::{jclass, jint, jmethodID};
use jvm::lock::Map;
use jvm::{Jni, Jvmti};
use jvmpi_classfile::{Instructions, access, opcode};
use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

/// The facts about one method that GetCallTrace needs.
pub struct Method {
    id: usize,
    /// The class that declares the method.
    pub class: Arc<Class>,
    /// True for `<init>`.
    pub is_constructor: bool,
    pub is_native: bool,
    /// The method's role in the execution of virtual threads.
    pub boundary: Option<Boundary>,
    /// The number of redefinitions of the class when the following fields were read.
    redefinitions: jint,
    /// The number of places where the method locks a monitor, once it was needed.
    locks: OnceLock<usize>,
    /// The bytecode index at which a constructor calls another one for its own object, once it was needed.
    own_call: OnceLock<Option<i64>>,
    lines: Lines,
}

/// A method of the JDK that begins or ends the execution of a virtual thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Boundary {
    /// The method's frame lies between those of a virtual thread and those of its carrier.
    EntersVirtualThread,
    /// The innermost method of a virtual thread while it is mounted and unmounted.
    LeavesCarrier,
}

impl Boundary {
    fn of(class: &Class, method: &CStr) -> Option<Self> {
        let is = |name: &CStr, of: &CStr| *method == *name && class.has_name(of);
        if is(c"enterSpecial", c"jdk/internal/vm/Continuation") {
            Some(Self::EntersVirtualThread)
        } else if is(c"yieldContinuation", c"java/lang/VirtualThread") {
            Some(Self::LeavesCarrier)
        } else {
            None
        }
    }
}

/// The `lineno` of a native method's frame.
const NATIVE: jint = -3;

static BY_ID: LazyLock<Map<usize, Arc<Method>>> = LazyLock::new(Map::new);

/// The number of records that were dropped.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Returns the record of a method, creating it the first time. None if the VM has unloaded the method. The
/// method may be an obsolete version.
pub fn of(jni: Jni, method: jmethodID) -> Option<Arc<Method>> {
    known(method).or_else(|| find_out(jni, method))
}

/// Returns the record for the code that the method has now, and true if that code is new: the shim and others
/// redefine classes while their methods run. `runs` means that the current thread is in the method, so its
/// class is alive.
pub fn as_it_is(jni: Jni, method: jmethodID, runs: bool) -> Option<(Arc<Method>, bool)> {
    let known = known(method);
    let is_new = known.as_ref().is_some_and(|known| known.is_replaced(jni, runs));
    let record = known.filter(|_| !is_new).or_else(|| find_out(jni, method));
    record.map(|record| (record, is_new))
}

/// Returns the record like [`as_it_is`], but only if the VM need not be asked. The ID may belong to a method
/// that a running thread has left and the VM has freed.
pub fn known_as_it_is(jni: Jni, method: jmethodID) -> Option<Arc<Method>> {
    known(method).filter(|known| !known.is_replaced(jni, false))
}

/// Asks the VM about a method, which it must not have freed.
pub fn find_out(jni: Jni, method: jmethodID) -> Option<Arc<Method>> {
    let jvmti = jvm::get().jvmti;
    let (name, signature) = jvmti.method_name(method).ok()?;
    let new = jni.frame(8, |jni| {
        let object = jvmti.declaring_class(method).ok()?;
        // If the class is redefined before the lines are read, they are read again later.
        let redefinitions = classes::redefinitions(jni, object);
        let lines = Lines::of(jvmti, method);
        // Agents get the current version of the method, not an obsolete one.
        let is_obsolete = jvmti.is_obsolete(method);
        let now = is_obsolete.then(|| find(jvmti, object, &name, &signature)).flatten();
        let class = classes::of(jni, object).ok()?;
        Some(Arc::new(Method {
            id: now.unwrap_or(method).expose_provenance(),
            boundary: Boundary::of(&class, &name),
            class,
            is_constructor: &*name == c"<init>",
            is_native: modifiers(method) & access::NATIVE != 0,
            redefinitions,
            locks: OnceLock::new(),
            own_call: OnceLock::new(),
            lines,
        }))
    })?;
    if !BY_ID.contains(method.addr()) {
        new.class.add_method(method);
    }
    BY_ID.insert(method.addr(), Arc::clone(&new));
    Some(new)
}

fn modifiers(method: jmethodID) -> u16 {
    jvm::get().jvmti.method_modifiers(method).unwrap_or(0) as u16
}

/// Returns the method that a class declares with this name and signature.
fn find(jvmti: Jvmti, class: jclass, name: &CStr, signature: &CStr) -> Option<jmethodID> {
    let methods = jvmti.class_methods(class).ok()?;
    let is_it = |method: &jmethodID| {
        jvmti.method_name(*method).is_ok_and(|(n, s)| *n == *name && *s == *signature)
    };
    methods.iter().copied().find(is_it)
}

/// Returns the record of a method, if there is one. Does not call the VM.
pub fn known(method: jmethodID) -> Option<Arc<Method>> {
    BY_ID.get(method.addr())
}

pub fn count() -> usize {
    BY_ID.keys().len()
}

/// Drops the record of a method whose class was unloaded.
pub fn forget(method: usize) {
    BY_ID.remove(method);
    DROPPED.fetch_add(1, Ordering::Release);
}

/// Returns a number that changes whenever an ID may have come to mean a different method.
pub fn generation() -> u64 {
    DROPPED.load(Ordering::Acquire)
}

impl Method {
    /// Returns the ID that agents see. For an obsolete method it is the ID of the new version.
    pub fn id(&self) -> jmethodID {
        std::ptr::with_exposed_provenance_mut(self.id)
    }

    /// Returns true if the class has been redefined since the record was made. `runs` as for [`as_it_is`].
    pub fn is_replaced(&self, jni: Jni, runs: bool) -> bool {
        let redefinitions = |class| classes::redefinitions(jni, class);
        let now = match runs {
            // Avoids a local reference for each frame of a trace.
            true => Some(redefinitions(self.class.object_alive())),
            false => self.class.object(jni).map(|class| {
                let now = redefinitions(class);
                jni.delete_local(class);
                now
            }),
        };
        now.is_some_and(|now| now != self.redefinitions)
    }

    /// Returns the number of places where the method locks a monitor: its entry, if it is synchronized, and
    /// each `monitorenter`.
    pub fn locks(&self) -> usize {
        if let Some(known) = self.locks.get() {
            return *known;
        }
        let jvmti = jvm::get().jvmti;
        let code = jvmti.bytecodes(self.id());
        let enters = |code: &[u8]| {
            let instructions = Instructions::of(code).flatten();
            instructions.filter(|i| i.opcode() == opcode::MONITORENTER).count()
        };
        let locks = usize::from(modifiers(self.id()) & access::SYNCHRONIZED != 0)
            + code.map_or(0, |c| enters(&c));
        *self.locks.get_or_init(|| locks)
    }

    /// Returns the bytecode index at which a constructor calls another constructor for its own object. None
    /// for other methods. `method` is the ID that frames have.
    pub fn own_call(&self, method: jmethodID) -> Option<i64> {
        if !self.is_constructor {
            return None;
        }
        let find = || own_call(&jvm::get().jvmti.bytecodes(method).ok()?);
        *self.own_call.get_or_init(find)
    }

    /// Returns the line that agents get for a frame with this bytecode index: -1 if the class file does not
    /// say.
    pub fn lineno(&self, bytecode_index: i64) -> jint {
        if self.is_native { NATIVE } else { self.lines.at(bytecode_index) }
    }
}

/// Returns the first call of a constructor in this code that is not for an object which the code has created.
/// Only a private method could be mistaken for it, and newer class files call those by `invokevirtual`.
fn own_call(code: &[u8]) -> Option<i64> {
    let mut made = 0_u32;
    for instruction in Instructions::of(code) {
        let instruction = instruction.ok()?;
        match instruction.opcode() {
            opcode::NEW => made += 1,
            opcode::INVOKESPECIAL if made == 0 => return Some(instruction.bci.into()),
            opcode::INVOKESPECIAL => made -= 1,
            _ => {}
        }
    }
    None
}

/// The bytecode index at which each source line of a method begins, in ascending order.
pub struct Lines(Box<[(i64, jint)]>);

impl Lines {
    /// Returns the method's LineNumberTable, empty if it has none.
    pub fn of(jvmti: Jvmti, method: jmethodID) -> Self {
        let Ok(entries) = jvmti.line_numbers(method) else { return Self(Box::default()) };
        Self::new(entries.iter().map(|entry| (entry.start_location, entry.line_number)).collect())
    }

    fn new(mut starts: Vec<(i64, jint)>) -> Self {
        starts.sort_unstable();
        Self(starts.into_boxed_slice())
    }

    /// Returns the line of a bytecode index; -1 if there is none.
    pub fn at(&self, bytecode_index: i64) -> jint {
        let after = self.0.partition_point(|(start, _)| *start <= bytecode_index);
        match after.checked_sub(1).map(|last| self.0[last].1) {
            Some(line) if line > 0 => line,
            _ => -1,
        }
    }

    /// Returns the smallest and the largest line; both are -1 if there is none.
    pub fn range(&self) -> (jint, jint) {
        let lines = || self.0.iter().map(|(_, line)| *line).filter(|line| *line > 0);
        (lines().min().unwrap_or(-1), lines().max().unwrap_or(-1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_for_the_own_object_is_behind_those_for_others() {
        let (new, call) = ([opcode::NEW, 0, 1], [opcode::INVOKESPECIAL, 0, 2]);
        let nested = [new, new, call, call, call, new, call].concat();
        assert_eq!(own_call(&nested), Some(12));
        assert_eq!((own_call(&call), own_call(&new)), (Some(0), None));
    }

    #[test]
    fn lines_are_found_by_bytecode_index() {
        let lines = Lines::new(vec![(8, 12), (2, 10), (5, 11), (11, 10)]);
        assert_eq!([0, 2, 4, 5, 9, 11, 100].map(|i| lines.at(i)), [-1, 10, 10, 11, 12, 10, 10]);
        assert_eq!(lines.range(), (10, 12));
    }
}

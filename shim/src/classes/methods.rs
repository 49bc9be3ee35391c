//! Methods. A method's ID is its `jmethodID`; CLASS_LOAD of its class defines it.

use crate::classes;
use crate::jvm::{self, Jni, Jvmti};
use crate::lock::Map;
use crate::records::class::Class;
use classfile::{Instructions, access, opcode};
use jni_sys::{jclass, jint, jmethodID};
use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

/// What GetCallTrace needs to know of one method.
pub struct Method {
    id: usize,
    /// The class that declares it.
    pub class: Arc<Class>,
    /// Whether it is an `<init>`.
    pub is_constructor: bool,
    pub is_native: bool,
    /// Its part in what virtual threads do.
    pub boundary: Option<Boundary>,
    /// How often its class had been redefined when the following fields were read.
    redefinitions: jint,
    /// The number of places where it locks a monitor, once that was asked for.
    locks: OnceLock<usize>,
    /// Where a constructor calls another one for its own object, once that was asked for.
    own_call: OnceLock<Option<i64>>,
    lines: Lines,
}

/// A method of the JDK's that begins or ends what a virtual thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Boundary {
    /// Its frame lies between those of a virtual thread and those of its carrier.
    EntersVirtualThread,
    /// A virtual thread executes it, which is the innermost of its methods, when it is mounted and unmounted.
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

/// How many records were dropped.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// The record of a method, which is made the first time; None if the VM has unloaded the method. It may
/// be that of an obsolete version.
pub fn of(jni: Jni, method: jmethodID) -> Option<Arc<Method>> {
    known(method).or_else(|| find_out(jni, method))
}

/// As [`of`], of the code that the method has now; and whether that has changed: the shim and others
/// redefine classes while their methods run. `runs` says that the current thread is in the method, so
/// that its class is alive.
pub fn as_it_is(jni: Jni, method: jmethodID, runs: bool) -> Option<(Arc<Method>, bool)> {
    let known = known(method);
    let is_new = known.as_ref().is_some_and(|known| known.is_replaced(jni, runs));
    let record = known.filter(|_| !is_new).or_else(|| find_out(jni, method));
    record.map(|record| (record, is_new))
}

/// As [`as_it_is`], if the VM need not be asked about the method for that: the ID may be that of one which
/// a running thread has left, and the VM freed.
pub fn known_as_it_is(jni: Jni, method: jmethodID) -> Option<Arc<Method>> {
    known(method).filter(|known| !known.is_replaced(jni, false))
}

fn find_out(jni: Jni, method: jmethodID) -> Option<Arc<Method>> {
    let jvmti = jvm::get().jvmti;
    let (name, signature) = jvmti.method_name(method).ok()?;
    let new = jni.frame(8, |jni| {
        let object = jvmti.declaring_class(method).ok()?;
        // If the class is redefined before the lines are read, they are read again.
        let redefinitions = classes::redefinitions(jni, object);
        let lines = Lines::of(jvmti, method);
        // Agents get the method that the class has now, not an obsolete version.
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

/// The `access_flags` of a method.
fn modifiers(method: jmethodID) -> u16 {
    jvm::get().jvmti.method_modifiers(method).unwrap_or(0) as u16
}

/// The method that a class declares under this name.
fn find(jvmti: Jvmti, class: jclass, name: &CStr, signature: &CStr) -> Option<jmethodID> {
    let methods = jvmti.class_methods(class).ok()?;
    let is_it = |method: &jmethodID| {
        jvmti.method_name(*method).is_ok_and(|(n, s)| *n == *name && *s == *signature)
    };
    methods.iter().copied().find(is_it)
}

/// The record of a method, if there is one. Does not call the VM.
pub fn known(method: jmethodID) -> Option<Arc<Method>> {
    BY_ID.get(method.addr())
}

/// How many methods have records.
pub fn count() -> usize {
    BY_ID.keys().len()
}

/// Drops the record of a method whose class was unloaded.
pub fn forget(method: usize) {
    BY_ID.remove(method);
    DROPPED.fetch_add(1, Ordering::Release);
}

/// As long as this number is the same, an ID means the same method.
pub fn generation() -> u64 {
    DROPPED.load(Ordering::Acquire)
}

impl Method {
    /// The ID that agents see: of an obsolete method that of its new version.
    pub fn id(&self) -> jmethodID {
        std::ptr::with_exposed_provenance_mut(self.id)
    }

    /// Whether its class has been redefined since the record was made. `runs` as for [`as_it_is`].
    pub fn is_replaced(&self, jni: Jni, runs: bool) -> bool {
        let redefinitions = |class| classes::redefinitions(jni, class);
        let now = match runs {
            // Saves a local reference for each frame of a trace.
            true => Some(redefinitions(self.class.object_alive())),
            false => self.class.object(jni).map(|class| {
                let now = redefinitions(class);
                jni.delete_local(class);
                now
            }),
        };
        now.is_some_and(|now| now != self.redefinitions)
    }

    /// The number of places where the method locks a monitor: its entry, if it is synchronized, and each
    /// `monitorenter`.
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

    /// Where a constructor calls that of its superclass, or another one of its class, for its own
    /// object; None for other methods. `method` is the ID that frames have.
    pub fn own_call(&self, method: jmethodID) -> Option<i64> {
        if !self.is_constructor {
            return None;
        }
        let find = || own_call(&jvm::get().jvmti.bytecodes(method).ok()?);
        *self.own_call.get_or_init(find)
    }

    /// What agents get as the line of a frame with this bytecode index: -1 if the class file does not say.
    pub fn lineno(&self, bytecode_index: i64) -> jint {
        if self.is_native { NATIVE } else { self.lines.at(bytecode_index) }
    }
}

/// The first call of a constructor in this code that is not for an object that the code itself has made.
/// It could be confused only with a private method, which newer class files call by `invokevirtual`.
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

/// Where each source line of a method begins, ordered by bytecode index.
pub struct Lines(Box<[(i64, jint)]>);

impl Lines {
    /// The method's LineNumberTable, empty if it has none.
    pub fn of(jvmti: Jvmti, method: jmethodID) -> Self {
        let Ok(entries) = jvmti.line_numbers(method) else { return Self(Box::default()) };
        Self::new(entries.iter().map(|entry| (entry.start_location, entry.line_number)).collect())
    }

    fn new(mut starts: Vec<(i64, jint)>) -> Self {
        starts.sort_unstable();
        Self(starts.into_boxed_slice())
    }

    /// The line of a bytecode index; -1 if there is none.
    pub fn at(&self, bytecode_index: i64) -> jint {
        let after = self.0.partition_point(|(start, _)| *start <= bytecode_index);
        match after.checked_sub(1).map(|last| self.0[last].1) {
            Some(line) if line > 0 => line,
            _ => -1,
        }
    }

    /// The smallest and the largest line; both -1 if there is none.
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

    #[test]
    fn a_method_without_a_table_has_no_lines() {
        let lines = Lines::new(Vec::new());
        assert_eq!((lines.at(0), lines.range()), (-1, (-1, -1)));
    }
}

//! The record of one class, and the classes that a thread has loaded.

use super::announced::Announced;
use jni_sys::{jclass, jint, jlong, jmethodID, jobject};
use jvm::boundary::OnDrop;
use jvm::lock::Lock;
use jvm::types::{JVMTI_CLASS_STATUS_ARRAY, JVMTI_CLASS_STATUS_PREPARED};
use jvm::{Jni, Result, WeakRef};
use jvmpi_settings::Names;
use jvmpi_sys::jobjectID;
use std::ffi::{CStr, CString};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// The internal name of the shim's own class, whose natives rewritten code calls.
pub const TRACKER: &CStr = c"jvmpi/Tracker";

/// The record of one class.
pub struct Class {
    id: jobjectID,
    instances: Instances,
    object: WeakRef,
    with_dots: CString,
    with_slashes: CString,
    /// The methods with cached data, which is dropped with the class.
    methods: Lock<Vec<usize>>,
    /// True if linking the class has failed.
    cannot_be_linked: AtomicBool,
    /// The first of the numbers with which rewritten code reports the methods, for each shape that the
    /// class has had.
    numbers: Lock<Vec<(u64, usize)>>,
    /// All numbers of its methods.
    all_numbers: Lock<Vec<Range<usize>>>,
    /// The number of constants that rewriting has added.
    growth: AtomicUsize,
    /// True if it must not be rewritten any more.
    keeps_as_it_is: AtomicBool,
    /// The environment and the object ID of the thread that loaded the class, if known.
    pub loaded_by: OnceLock<(usize, usize)>,
    /// The agents that have got CLASS_LOAD.
    pub announced: Announced,
}

// SAFETY: the ID is a number, not a pointer to be followed; the other fields are safe to share.
unsafe impl Send for Class {}
// SAFETY: as above.
unsafe impl Sync for Class {}

/// The kind of the objects of a class, as OBJECT_ALLOC shows it.
pub enum Instances {
    /// Class objects: the class is `java.lang.Class`.
    Classes,
    /// Plain objects, with the size of each in bytes once it is known.
    Objects(OnceLock<jlong>),
    /// Arrays of references, with the class of their elements.
    References(Option<Arc<Class>>),
    /// Arrays of a primitive type, one of the `JVMPI_BOOLEAN` … `JVMPI_LONG`.
    Primitives(jint),
}

/// Returns true if the class is linked or an array class. JVMTI shows methods and fields of no others.
pub fn is_ready(class: jclass) -> bool {
    let ready = JVMTI_CLASS_STATUS_PREPARED | JVMTI_CLASS_STATUS_ARRAY;
    jvm::get().jvmti.class_status(class).is_ok_and(|status| status & ready as jint != 0)
}

/// Returns a class descriptor without the `L` and `;` of ordinary classes. Array classes keep theirs.
pub fn name_in_signature(signature: &[u8]) -> &[u8] {
    signature.strip_prefix(b"L").and_then(|name| name.strip_suffix(b";")).unwrap_or(signature)
}

/// Returns the name as `Class.getName` spells it: dots between packages, and a slash in place of the one
/// dot in the name of a hidden class.
fn with_dots(name: &[u8]) -> Vec<u8> {
    let swap = |byte: &u8| match byte {
        b'/' => b'.',
        b'.' => b'/',
        other => *other,
    };
    let mut dotted: Vec<u8> = name.iter().map(swap).collect();
    // JDK 11 adds a slash and a number to the name of a lambda expression's class.
    if let Some(slash) = name.iter().rposition(|byte| *byte == b'/')
        && name[slash + 1..].iter().all(u8::is_ascii_digit)
    {
        dotted[slash] = b'/';
    }
    dotted
}

fn c_string(bytes: Vec<u8>) -> CString {
    CString::new(bytes).expect("the name comes from a C string")
}

impl Class {
    /// Creates the record of a class whose name is spelled as in class files.
    pub fn new(id: jobjectID, instances: Instances, object: WeakRef, name: &[u8]) -> Self {
        Self {
            id,
            instances,
            object,
            with_dots: c_string(with_dots(name)),
            with_slashes: c_string(name.to_vec()),
            methods: Lock::default(),
            cannot_be_linked: AtomicBool::new(false),
            numbers: Lock::default(),
            all_numbers: Lock::default(),
            growth: AtomicUsize::new(0),
            keeps_as_it_is: AtomicBool::new(false),
            loaded_by: OnceLock::new(),
            announced: Announced::default(),
        }
    }

    pub fn id(&self) -> jobjectID {
        self.id
    }

    /// Returns true if the class has this name, as class files spell it.
    pub fn has_name(&self, with_slashes: &CStr) -> bool {
        *self.with_slashes == *with_slashes
    }

    /// Returns true for the shim's own class, which is hidden.
    pub fn is_own(&self) -> bool {
        *self.with_slashes == *TRACKER
    }

    pub fn instances(&self) -> &Instances {
        &self.instances
    }

    pub fn is_array(&self) -> bool {
        matches!(self.instances, Instances::References(_) | Instances::Primitives(_))
    }

    /// Returns the size in bytes of an object of this class. All plain objects of a class have the same
    /// size.
    pub fn size_of(&self, object: jobject) -> Result<jlong> {
        let ask = || jvm::get().jvmti.object_size(object);
        let Instances::Objects(size) = &self.instances else { return ask() };
        match size.get() {
            Some(size) => Ok(*size),
            None => ask().map(|asked| *size.get_or_init(|| asked)),
        }
    }

    /// Returns a local reference to the class. None if the class was unloaded.
    pub fn object(&self, jni: Jni) -> Option<jobject> {
        self.object.get(jni)
    }

    /// Returns true if the class is ready ([`is_ready`]), if necessary after `link`, which returns true if
    /// it tried to link. A failed attempt is not repeated: arrays may often name a class that cannot be
    /// linked.
    pub fn is_linked(&self, object: jclass, link: impl FnOnce() -> bool) -> bool {
        if is_ready(object) {
            return true;
        }
        if self.cannot_be_linked.load(Ordering::Relaxed) {
            return false;
        }
        let has_tried = link();
        let is_linked = is_ready(object);
        self.cannot_be_linked.store(has_tried && !is_linked, Ordering::Relaxed);
        is_linked
    }

    /// Lets [`Self::is_linked`] try again after a failure, because a missing class may be loaded by now.
    pub fn let_be_linked(&self) {
        self.cannot_be_linked.store(false, Ordering::Relaxed);
    }

    /// Returns the class like [`Self::object`]. It must stay alive as long as the reference is used.
    pub fn object_alive(&self) -> jobject {
        self.object.get_alive()
    }

    /// Returns the name as class files spell it.
    pub fn internal_name(&self) -> &[u8] {
        self.with_slashes.to_bytes()
    }

    /// Returns the name as an agent wants it spelled. It lives as long as the class does.
    pub fn name(&self, names: Names) -> &CStr {
        match names {
            Names::Dot => &self.with_dots,
            Names::Slash => &self.with_slashes,
        }
    }

    /// Returns the first of the numbers with which its methods are reported. It is the same for each
    /// `shape`, a hash of the methods' names and order.
    pub fn numbers(&self, shape: u64, reserve: impl FnOnce() -> usize) -> usize {
        let known = self.numbers.lock().iter().find(|(known, _)| *known == shape).copied();
        if let Some((_, first)) = known {
            return first;
        }
        let first = reserve();
        self.numbers.lock().push((shape, first));
        first
    }

    /// Makes these numbers, for methods of this shape, numbers of the class.
    pub fn own_numbers(&self, shape: u64, numbers: Range<usize>) {
        self.numbers(shape, || {
            self.add_numbers(numbers.clone());
            numbers.start
        });
    }

    /// Records that these numbers belong to its methods.
    pub fn add_numbers(&self, numbers: Range<usize>) {
        self.all_numbers.lock().push(numbers);
    }

    pub fn take_numbers(&self) -> Vec<Range<usize>> {
        std::mem::take(&mut self.all_numbers.lock())
    }

    /// Records that rewriting adds so many constants. Returns the sum of all added constants.
    pub fn grow(&self, constants: usize) -> usize {
        self.growth.fetch_add(constants, Ordering::Relaxed) + constants
    }

    /// Prevents further rewriting of the class. Returns false if it was prevented before.
    pub fn keep_as_it_is(&self) -> bool {
        !self.keeps_as_it_is.swap(true, Ordering::Relaxed)
    }

    /// Returns true if the class must not be rewritten any more.
    pub fn is_kept_as_it_is(&self) -> bool {
        self.keeps_as_it_is.load(Ordering::Relaxed)
    }

    /// Records that data about a method of the class is cached.
    pub fn add_method(&self, method: jmethodID) {
        self.methods.lock().push(method.addr());
    }

    /// Takes the methods with cached data.
    pub fn take_methods(&self) -> Vec<usize> {
        std::mem::take(&mut self.methods.lock())
    }
}

/// The classes that a thread has loaded and that may not be announced yet. A class is loaded first and linked later, by
/// any thread that needs it, or never. JVMTI provides the data for CLASS_LOAD only after that. Only the thread itself
/// uses this.
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
        let _after = OnDrop(|| self.0.lock().is_linking = false);
        let next = || self.0.lock().to_link.pop();
        while let Some(class) = next() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spelled_as_class_get_name_does() {
        let dots = |signature: &str| {
            String::from_utf8(with_dots(name_in_signature(signature.as_bytes()))).unwrap()
        };
        assert_eq!(dots("Ljava/lang/String;"), "java.lang.String");
        assert_eq!(dots("[[Ljava/lang/String;"), "[[Ljava.lang.String;");
        assert_eq!(dots("[I"), "[I");
        assert_eq!(dots("Lp/Main$$Lambda.0x01;"), "p.Main$$Lambda/0x01");
        assert_eq!(dots("Lp/Main$$Lambda$1/20744;"), "p.Main$$Lambda$1/20744");
        assert_eq!(dots("LL;"), "L");
    }
}

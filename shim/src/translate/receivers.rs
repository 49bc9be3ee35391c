//! The object that a constructor is called on, before it has called that of the superclass.
//!
//! Until then code cannot pass the object on, but it is a local variable of the constructor's frame.
//! `java.lang.LiveStackFrame`, which the JDK has had for itself since 9, shows the frames of the
//! current thread with their variables. JVMTI would take a capability for that, which must be held
//! from the start and makes compiled code keep variables longer than it needs them.
//!
//! A walk is made in the middle of whatever the program does, and so is the first one if the agent
//! enables METHOD_ENTRY2 in an event. That may be the JDK making a method handle, which fails if the
//! thread makes one of the same kind meanwhile. So nothing that a walk takes may need method handles:
//! no lambda, no reflection.

use crate::boundary::guard;
use crate::instrument::tracker::Native;
use crate::jvm::{GlobalRef, Jni, MethodId, internals};
use crate::lock::Memo;
use crate::world::threads::{self, Thread};
use jni_sys::{JNIEnv, jclass, jobject, jvalue};
use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::ptr;

/// `Function.apply` of the Tracker. What it is applied to is the stream of a walk's frames.
pub const APPLY: Native = Native {
    name: c"apply",
    descriptor: c"(Ljava/lang/Object;)Ljava/lang/Object;",
    is_static: false,
    function: apply as *mut c_void,
};

/// What a walk takes.
struct StackWalk {
    /// The `StackWalker` that sees local variables.
    walker: GlobalRef,
    /// A Tracker.
    function: GlobalRef,
    walk: MethodId,
    iterator: MethodId,
    next: MethodId,
    get_locals: MethodId,
}

/// None if the JDK has no such walker.
static WALK: Memo<Option<StackWalk>> = Memo::new();

/// Makes the first walk, so that no later one initializes a class: two threads that do so in
/// different orders would wait for each other.
pub fn prepare(jni: Jni) {
    if WALK.get().is_some() {
        return;
    }
    let rehearse = |jni: Jni| {
        let walk = WALK.get_or_find(|| StackWalk::new(jni)).as_ref()?;
        // There must be a frame to be found: that of `map`, which applies the function to itself.
        let function = jvalue { l: walk.function.get() };
        let class = jni.find_class(c"java/util/Optional")?;
        let of = jni.static_method(class, c"of", c"(Ljava/lang/Object;)Ljava/util/Optional;")?;
        let optional = jni.call_static_object(class, of, &[function])?;
        let signature = c"(Ljava/util/function/Function;)Ljava/util/Optional;";
        jni.call_object(optional, jni.method(class, c"map", signature)?, &[function]).map(drop)
    };
    internals::LIVE_STACK_FRAME.find(|| jni.frame(16, rehearse));
}

impl StackWalk {
    fn new(jni: Jni) -> Option<Self> {
        for (name, values) in ENUMERATIONS {
            jni.find_class(name).map(|enumeration| provide_constants(jni, enumeration, values));
        }
        let walkers = jni.find_class(c"java/lang/StackWalker")?;
        let streams = jni.find_class(c"java/util/stream/Stream")?;
        let iterators = jni.find_class(c"java/util/Iterator")?;
        let frames = jni.find_class(c"java/lang/LiveStackFrame")?;
        let make = c"(Ljava/util/Set;)Ljava/lang/StackWalker;";
        let make = jni.static_method(frames, c"getStackWalker", make)?;
        let options = jvalue { l: all_frames(jni)? };
        let apply = c"(Ljava/util/function/Function;)Ljava/lang/Object;";
        Some(Self {
            walker: own(jni, jni.call_static_object(frames, make, &[options])?)?,
            function: own(jni, crate::world::tracker::instance(jni)?)?,
            walk: jni.method(walkers, c"walk", apply)?,
            iterator: jni.method(streams, c"iterator", c"()Ljava/util/Iterator;")?,
            next: jni.method(iterators, c"next", c"()Ljava/lang/Object;")?,
            get_locals: jni.method(frames, c"getLocals", c"()[Ljava/lang/Object;")?,
        })
    }

    /// The first local variable in the frame behind those that are to be skipped.
    fn run(&self, jni: Jni) -> Option<jobject> {
        jni.call_object(self.walker.get(), self.walk, &[jvalue { l: self.function.get() }])
    }

    /// Takes the iterator, as other operations on streams have lambdas.
    fn of_frames(&self, jni: Jni, frames: jobject) -> Option<jobject> {
        let frames = jni.call_object(frames, self.iterator, &[])?;
        for _ in 0..SKIPPED.get() {
            jni.delete_local(jni.call_object(frames, self.next, &[])?);
        }
        let frame = jni.call_object(frames, self.next, &[])?;
        let locals = jni.call_object(frame, self.get_locals, &[])?;
        (jni.array_length(locals) > 0).then(|| jni.array_element(locals, 0))
    }
}

/// The enumerations that a walker and a stream make an `EnumSet` or an `EnumMap` of when their classes
/// are initialized, and the descriptors of their `values`.
const ENUMERATIONS: [(&CStr, &CStr); 2] = [
    (c"java/lang/StackWalker$Option", c"()[Ljava/lang/StackWalker$Option;"),
    (c"java/util/stream/StreamOpFlag$Type", c"()[Ljava/util/stream/StreamOpFlag$Type;"),
];

/// Such a set asks the Class object for the constants of the enumeration. The first time that calls
/// `values` by reflection, which makes a method handle from JDK 18 on, and keeps what it returns. So
/// it is put there.
fn provide_constants(jni: Jni, enumeration: jclass, signature: &CStr) -> Option<()> {
    let meta = jni.class_of(enumeration);
    let field = || jni.field(meta, c"enumConstants", c"[Ljava/lang/Object;");
    let field = internals::ENUM_CONSTANTS.find(field)?;
    if jni.object_field(enumeration, field).is_null() {
        let values = jni.static_method(enumeration, c"values", signature)?;
        let constants = jni.call_static_object(enumeration, values, &[])?;
        jni.set_object_field(enumeration, field, constants);
    }
    Some(())
}

/// The set of options with which a walk sees each frame that JVMTI does.
fn all_frames(jni: Jni) -> Option<jobject> {
    let options = jni.find_class(c"java/lang/StackWalker$Option")?;
    let option = c"Ljava/lang/StackWalker$Option;";
    let option = jni.static_field(options, c"SHOW_HIDDEN_FRAMES", option)?;
    let option = jvalue { l: jni.static_object_field(options, option) };
    let sets = jni.find_class(c"java/util/Set")?;
    let of = jni.static_method(sets, c"of", c"(Ljava/lang/Object;)Ljava/util/Set;")?;
    jni.call_static_object(sets, of, &[option])
}

/// Keeps an object alive that is never shown to agents, not even where a dump meets a walk that is
/// under way on another thread.
fn own(jni: Jni, object: jobject) -> Option<GlobalRef> {
    threads::hide(object).ok()?;
    GlobalRef::new(jni, object)
}

unsafe extern "system" fn apply(env: *mut JNIEnv, this: jobject, argument: jobject) -> jobject {
    guard(ptr::null_mut(), || {
        // SAFETY: the VM passes the environment of the thread that runs this.
        let jni = unsafe { Jni::new(env) };
        let Some(walk) = WALK.get().and_then(Option::as_ref) else { return ptr::null_mut() };
        let is_rehearsal = jni.same_object(this, argument);
        let found = if is_rehearsal { walk.run(jni) } else { walk.of_frames(jni, argument) };
        found.unwrap_or(ptr::null_mut())
    })
}

thread_local! {
    /// How many of the innermost frames the walk of the current thread skips.
    static SKIPPED: Cell<usize> = const { Cell::new(1) };
}

/// The object on which the constructor of this class is called that is this frame of the current
/// thread, the innermost being 0; a reference in the current native frame. None if the constructor has no
/// use for it any more, as one that always throws.
pub fn of_constructor(jni: Jni, thread: &Thread, class: jclass, frame: usize) -> Option<jobject> {
    let walk = WALK.get()?.as_ref()?;
    SKIPPED.set(frame);
    let first = threads::quietly(jni, || thread.wasting(|| walk.run(jni)))?;
    jni.instance_of(first, class).then_some(first)
}

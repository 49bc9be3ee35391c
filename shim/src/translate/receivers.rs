//! Finds the object that a constructor is called on, before it has called the superclass constructor.
//!
//! Until then the code cannot pass the object on, but the object is a local variable of the constructor's
//! frame. The VM shows the current thread's frames with their variables to `java.lang.LiveStackFrame`, an
//! internal class of the JDK since 9. The JDK's own walker would request eight frames or more and box each of
//! their variables by a call of Java code. So the shim calls the VM as that walker does, but for one frame.
//! The JVMTI function for this needs a capability that must be held from the start and makes compiled code
//! keep variables alive longer.
//!
//! A walk runs in the middle of whatever the program does. So does the first walk if the agent enables
//! METHOD_ENTRY2 in an event. The JDK may be creating a method handle there, which fails if the thread creates
//! one of the same kind meanwhile. So nothing in a walk may need method handles: no lambda, no reflection.

use crate::instrument::tracker::Native;
use crate::threads::{self, Thread};
use jni_sys::{JNIEnv, jclass, jint, jlong, jobject, jvalue};
use jvm::boundary::guard;
use jvm::lock::Memo;
use jvm::{FieldId, GlobalRef, Jni, MethodId, internals};
use std::ffi::{CStr, c_void};
use std::ptr;

/// The Tracker's `Function.apply`. The walker applies it to its frames, once the VM has written them.
pub const APPLY: Native = Native {
    name: c"apply",
    descriptor: c"(Ljava/lang/Object;)Ljava/lang/Object;",
    is_static: false,
    function: apply as *mut c_void,
};

/// The classes and members that a walk uses.
struct StackWalk {
    /// An instance of the Tracker.
    function: GlobalRef,
    walker: Walker,
    buffer: Buffer,
    frame: Frame,
}

/// The object that the VM calls back when it has written the frames.
struct Walker {
    class: GlobalRef,
    depth: FieldId,
    buffer: FieldId,
    finals: Finals,
    call: MethodId,
    /// True if the VM is also passed the continuations to walk.
    has_continuations: bool,
}

/// Writes the final fields of a new walker with the JDK's own means: from JDK 26 on `-Xcheck:jni` reports a JNI function
/// that writes to a final field. Until the JDK publishes the object, which it never does here, the write is harmless.
struct Finals {
    unsafe_: GlobalRef,
    put: MethodId,
    /// The offsets of the fields.
    thread: jlong,
    function: jlong,
}

/// The object in which a walker records its progress.
struct Buffer {
    class: GlobalRef,
    origin: FieldId,
    /// The index of the first frame in the array that the VM fills.
    start: jint,
}

/// The class of a frame with its local variables.
struct Frame {
    class: GlobalRef,
    locals: FieldId,
    /// The object and field to which JDKs before 21 write the frame's method.
    member: Option<(GlobalRef, FieldId)>,
}

/// None if the JDK does not show frames in this way.
static WALK: Memo<Option<StackWalk>> = Memo::new();

/// Makes the first walk, so that no later one initializes a class. Two threads that initialize classes in
/// different orders would wait for each other.
pub fn prepare(jni: Jni) {
    if WALK.get().is_some() {
        return;
    }
    let rehearse = |jni: Jni| {
        let walk = WALK.get_or_find(|| StackWalk::new(jni)).as_ref()?;
        // The walk needs a frame to find: `Optional.map`, which applies the function to itself.
        let function = jvalue { l: walk.function.get() };
        let class = jni.find_class(c"java/util/Optional")?;
        let of = jni.static_method(class, c"of", c"(Ljava/lang/Object;)Ljava/util/Optional;")?;
        let optional = jni.call_static_object(class, of, &[function])?;
        let signature = c"(Ljava/util/function/Function;)Ljava/util/Optional;";
        jni.call_object(optional, jni.method(class, c"map", signature)?, &[function]).map(drop)
    };
    internals::LIVE_STACK_FRAME.find(|| jni.frame(24, rehearse));
}

impl StackWalk {
    fn new(jni: Jni) -> Option<Self> {
        for (name, values) in ENUMERATIONS {
            jni.find_class(name).map(|enumeration| provide_constants(jni, enumeration, values));
        }
        Some(Self {
            function: own(jni, crate::records::tracker::instance(jni)?)?,
            walker: Walker::new(jni)?,
            buffer: Buffer::new(jni)?,
            frame: Frame::new(jni)?,
        })
    }

    /// Returns the first local variable of the frame of the current thread below `skipped` frames. The
    /// reference belongs to the current native frame, like others that this leaves there.
    fn run(&self, jni: Jni, skipped: jint) -> Option<jobject> {
        let frame = self.frame.make(jni)?;
        let (walker, start) = (self.walker.make(jni, self, skipped)?, self.buffer.start);
        let frames = jni.new_array(start + 1, self.frame.class.get())?;
        jni.set_array_element(frames, start, frame);
        self.walker.call(jni, walker, skipped, start, frames);
        let locals = jni.object_field(frame, self.frame.locals);
        let found = !locals.is_null() && jni.array_length(locals) > 0;
        found.then(|| jni.array_element(locals, 0))
    }
}

impl Walker {
    fn new(jni: Jni) -> Option<Self> {
        const BEFORE_21: &CStr = c"(JIII[Ljava/lang/Object;)Ljava/lang/Object;";
        const SINCE_21: &CStr = c"(JILjdk/internal/vm/ContinuationScope;Ljdk/internal/vm/Continuation;II[Ljava/lang/Object;)Ljava/lang/Object;";
        const SINCE_22: &CStr = c"(IILjdk/internal/vm/ContinuationScope;Ljdk/internal/vm/Continuation;II[Ljava/lang/Object;)Ljava/lang/Object;";
        let class = jni.find_class(c"java/lang/StackStreamFactory$LiveStackInfoTraverser")?;
        let call = |signature| jni.method(class, c"callStackWalk", signature);
        let before_21 = call(BEFORE_21);
        let buffer = c"Ljava/lang/StackStreamFactory$FrameBuffer;";
        Some(Self {
            finals: Finals::new(jni, class)?,
            class: GlobalRef::new(jni, class)?,
            depth: jni.field(class, c"depth", c"I")?,
            buffer: jni.field(class, c"frameBuffer", buffer)?,
            has_continuations: before_21.is_none(),
            call: before_21.or_else(|| call(SINCE_21)).or_else(|| call(SINCE_22))?,
        })
    }

    /// Creates a walker of the current thread.
    fn make(&self, jni: Jni, walk: &StackWalk, skipped: jint) -> Option<jobject> {
        let (walker, buffer) = (jni.allocate(self.class.get())?, walk.buffer.make(jni, skipped)?);
        let thread = jvm::get().jvmti.current_thread().ok()?;
        jni.set_object_field(walker, self.buffer, buffer);
        self.finals.put(jni, walker, self.finals.thread, thread)?;
        self.finals.put(jni, walker, self.finals.function, walk.function.get())?;
        // At depth 0 the walker would look for the frames of the JDK that have led to the walk.
        jni.set_int_field(walker, self.depth, 1);
        Some(walker)
    }

    /// Makes the VM fill the frame at index `start` of the array.
    fn call(&self, jni: Jni, walker: jobject, skipped: jint, start: jint, frames: jobject) {
        /// Shows local variables, and every frame that JVMTI sees. The values are the same since JDK 9.
        const MODE: jlong = 0x100 | 0x20;
        let [mode, skipped] = [jvalue { j: MODE }, jvalue { j: skipped.into() }];
        let none = jvalue { l: ptr::null_mut() };
        let [count, start] = [1, start].map(|number| jvalue { i: number });
        let frames = jvalue { l: frames };
        if self.has_continuations {
            let arguments = [mode, skipped, none, none, count, start, frames];
            jni.call_object(walker, self.call, &arguments);
        } else {
            jni.call_object(walker, self.call, &[mode, skipped, count, start, frames]);
        }
    }
}

impl Finals {
    /// Finds the fields of this class of walkers. Their superclasses declare them.
    fn new(jni: Jni, walker: jclass) -> Option<Self> {
        const OFFSET: &CStr = c"(Ljava/lang/Class;Ljava/lang/String;)J";
        const PUT: &CStr = c"(Ljava/lang/Object;JLjava/lang/Object;)V";
        let class = jni.find_class(c"jdk/internal/misc/Unsafe")?;
        let get = jni.static_method(class, c"getUnsafe", c"()Ljdk/internal/misc/Unsafe;")?;
        let unsafe_ = jni.call_static_object(class, get, &[])?;
        let offset_of = jni.method(class, c"objectFieldOffset", OFFSET)?;
        let put = jni.method(class, c"putReference", PUT);
        let offset = |class: jclass, name: &CStr| {
            let arguments = [jvalue { l: class }, jvalue { l: jni.new_string(name)? }];
            jni.call_long(unsafe_, offset_of, &arguments)
        };
        let traverser = jni.superclass(walker);
        Some(Self {
            unsafe_: GlobalRef::new(jni, unsafe_)?,
            // JDK 11 has the old name.
            put: put.or_else(|| jni.method(class, c"putObject", PUT))?,
            thread: offset(jni.superclass(traverser), c"thread")?,
            function: offset(traverser, c"function")?,
        })
    }

    /// Writes to the field at this offset.
    fn put(&self, jni: Jni, walker: jobject, offset: jlong, value: jobject) -> Option<()> {
        let arguments = [jvalue { l: walker }, jvalue { j: offset }, jvalue { l: value }];
        jni.call_void(self.unsafe_.get(), self.put, &arguments)
    }
}

impl Buffer {
    fn new(jni: Jni) -> Option<Self> {
        const BEFORE_22: &CStr =
            c"java/lang/StackStreamFactory$StackFrameTraverser$StackFrameBuffer";
        const SINCE_22: &CStr = c"java/lang/StackStreamFactory$StackFrameBuffer";
        let class = jni.find_class(BEFORE_22).or_else(|| jni.find_class(SINCE_22))?;
        let start = jni.static_field(class, c"START_POS", c"I")?;
        Some(Self {
            class: GlobalRef::new(jni, class)?,
            origin: jni.field(class, c"origin", c"I")?,
            start: jni.static_int_field(class, start),
        })
    }

    /// Creates a buffer at the position that a walker expects after skipping frames.
    fn make(&self, jni: Jni, skipped: jint) -> Option<jobject> {
        let buffer = jni.allocate(self.class.get())?;
        jni.set_int_field(buffer, self.origin, skipped + self.start);
        Some(buffer)
    }
}

impl Frame {
    fn new(jni: Jni) -> Option<Self> {
        let class = jni.find_class(c"java/lang/LiveStackFrameInfo")?;
        let member = jni.field(class, c"memberName", c"Ljava/lang/Object;");
        let member = member.and_then(|field| {
            let class = jni.find_class(c"java/lang/invoke/MemberName")?;
            Some((GlobalRef::new(jni, class)?, field))
        });
        let locals = jni.field(class, c"locals", c"[Ljava/lang/Object;")?;
        Some(Self { class: GlobalRef::new(jni, class)?, locals, member })
    }

    fn make(&self, jni: Jni) -> Option<jobject> {
        let frame = jni.allocate(self.class.get())?;
        if let Some((class, field)) = &self.member {
            jni.set_object_field(frame, *field, jni.allocate(class.get())?);
        }
        Some(frame)
    }
}

/// The enumerations, with the descriptors of their `values`, from which the initializers of a walker and a
/// stream make an `EnumSet` or an `EnumMap`.
const ENUMERATIONS: [(&CStr, &CStr); 2] = [
    (c"java/lang/StackWalker$Option", c"()[Ljava/lang/StackWalker$Option;"),
    (c"java/util/stream/StreamOpFlag$Type", c"()[Ljava/util/stream/StreamOpFlag$Type;"),
];

/// Stores the constants of an enumeration in its Class object, where `EnumSet` and `EnumMap` look for them. If
/// they are missing there, the Class object calls `values` by reflection, which creates a method handle from
/// JDK 18 on.
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

/// Keeps an object alive and hides it from agents, even from a dump during a walk on another thread.
fn own(jni: Jni, object: jobject) -> Option<GlobalRef> {
    threads::hide(object).ok()?;
    GlobalRef::new(jni, object)
}

unsafe extern "system" fn apply(env: *mut JNIEnv, this: jobject, argument: jobject) -> jobject {
    guard(ptr::null_mut(), || {
        // SAFETY: the VM passes the environment of the thread that runs this.
        let jni = unsafe { Jni::new(env) };
        // The VM has filled a walker's frames before the walker passes them on, so nothing is left to do.
        let is_rehearsal = jni.same_object(this, argument);
        let walk = WALK.get().and_then(Option::as_ref).filter(|_| is_rehearsal);
        const CALLER: jint = 1;
        walk.and_then(|walk| walk.run(jni, CALLER)).unwrap_or(ptr::null_mut())
    })
}

/// The number of local references that [`of_constructor`] leaves behind.
pub const REFERENCES: jint = 8;

/// Returns the object on which a constructor of this class was called. `frame` is the constructor's frame in
/// the current thread; the innermost is 0. The result is a local reference, one of [`REFERENCES`] that this
/// creates. None if the constructor does not use the object any more, for example because it always throws.
pub fn of_constructor(jni: Jni, thread: &Thread, class: jclass, frame: usize) -> Option<jobject> {
    let (walk, frame) = (WALK.get()?.as_ref()?, jint::try_from(frame).ok()?);
    let first = threads::internally(jni, || thread.own_work.without_ids(|| walk.run(jni, frame)))?;
    jni.instance_of(first, class).then_some(first)
}

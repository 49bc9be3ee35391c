//! The object that a constructor is called on, before it has called that of the superclass.
//!
//! Until then code cannot pass the object on, but it is a local variable of the constructor's frame.
//! The VM shows the frames of the current thread with their variables to `java.lang.LiveStackFrame`,
//! which the JDK has had for itself since 9. The JDK's walker would have it show eight frames or more, and
//! each variable of those is boxed by a call of Java code; so the VM is asked as that walker does, but for one
//! frame. JVMTI would take a capability for that, which must be held from the start and makes compiled code
//! keep variables longer than it needs them.
//!
//! A walk is made in the middle of whatever the program does, and so is the first one if the agent
//! enables METHOD_ENTRY2 in an event. That may be the JDK making a method handle, which fails if the
//! thread makes one of the same kind meanwhile. So nothing that a walk takes may need method handles:
//! no lambda, no reflection.

use crate::boundary::guard;
use crate::instrument::tracker::Native;
use crate::jvm::{self, FieldId, GlobalRef, Jni, MethodId, internals};
use crate::lock::Memo;
use crate::threads::{self, Thread};
use jni_sys::{JNIEnv, jclass, jint, jlong, jobject, jvalue};
use std::ffi::{CStr, c_void};
use std::ptr;

/// `Function.apply` of the Tracker. The walker applies it to its frames, once the VM has shown them.
pub const APPLY: Native = Native {
    name: c"apply",
    descriptor: c"(Ljava/lang/Object;)Ljava/lang/Object;",
    is_static: false,
    function: apply as *mut c_void,
};

/// What a walk takes.
struct StackWalk {
    /// A Tracker.
    function: GlobalRef,
    walker: Walker,
    buffer: Buffer,
    frame: Frame,
}

/// What the VM calls back when it has shown the frames.
struct Walker {
    class: GlobalRef,
    thread: FieldId,
    depth: FieldId,
    buffer: FieldId,
    function: FieldId,
    call: MethodId,
    /// Whether the VM is also told which continuations to walk.
    has_continuations: bool,
}

/// What a walker takes note in of how far it is.
struct Buffer {
    class: GlobalRef,
    origin: FieldId,
    /// The index of the first frame in the array that the VM fills.
    start: jint,
}

/// A frame with its variables.
struct Frame {
    class: GlobalRef,
    locals: FieldId,
    /// What a frame needs to have, until JDK 21, for the VM to write its method to.
    member: Option<(GlobalRef, FieldId)>,
}

/// None if the JDK shows no frames in this way.
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
        Some(Self {
            function: own(jni, crate::records::tracker::instance(jni)?)?,
            walker: Walker::new(jni)?,
            buffer: Buffer::new(jni)?,
            frame: Frame::new(jni)?,
        })
    }

    /// The first local variable of the current thread's frame behind so many, in the current native
    /// frame, where it leaves other references too.
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
            class: GlobalRef::new(jni, class)?,
            thread: jni.field(class, c"thread", c"Ljava/lang/Thread;")?,
            depth: jni.field(class, c"depth", c"I")?,
            buffer: jni.field(class, c"frameBuffer", buffer)?,
            function: jni.field(class, c"function", c"Ljava/util/function/Function;")?,
            has_continuations: before_21.is_none(),
            call: before_21.or_else(|| call(SINCE_21)).or_else(|| call(SINCE_22))?,
        })
    }

    /// A walker of the current thread.
    fn make(&self, jni: Jni, walk: &StackWalk, skipped: jint) -> Option<jobject> {
        let (walker, buffer) = (jni.allocate(self.class.get())?, walk.buffer.make(jni, skipped)?);
        let thread = jvm::get().jvmti.current_thread().ok()?;
        jni.set_object_field(walker, self.thread, thread);
        jni.set_object_field(walker, self.buffer, buffer);
        jni.set_object_field(walker, self.function, walk.function.get());
        // At the beginning it would look for the frames of the JDK's that have led to the walk.
        jni.set_int_field(walker, self.depth, 1);
        Some(walker)
    }

    /// Has the VM fill the frame that is the element `start` of the array.
    fn call(&self, jni: Jni, walker: jobject, skipped: jint, start: jint, frames: jobject) {
        /// With variables, and with each frame that JVMTI sees: modes that are as they are since JDK 9.
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

    /// A buffer that is where a walker expects it to be that has skipped frames.
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
        // What a walk is for has been done when its frames are passed on.
        let is_rehearsal = jni.same_object(this, argument);
        let walk = WALK.get().and_then(Option::as_ref).filter(|_| is_rehearsal);
        const CALLER: jint = 1;
        walk.and_then(|walk| walk.run(jni, CALLER)).unwrap_or(ptr::null_mut())
    })
}

/// How many local references [`of_constructor`] leaves behind.
pub const REFERENCES: jint = 8;

/// The object on which the constructor of this class is called that is this frame of the current
/// thread, the innermost being 0; a reference in the current native frame, of which this takes
/// [`REFERENCES`]. None if the constructor has no use for it any more, as one that always throws.
pub fn of_constructor(jni: Jni, thread: &Thread, class: jclass, frame: usize) -> Option<jobject> {
    let (walk, frame) = (WALK.get()?.as_ref()?, jint::try_from(frame).ok()?);
    let first = threads::quietly(jni, || thread.own_work.wasting(|| walk.run(jni, frame)))?;
    jni.instance_of(first, class).then_some(first)
}

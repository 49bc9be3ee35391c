//! `java.lang.VirtualThread`, and the carriers of virtual threads.

use super::global_ref::GlobalRef;
use super::internals;
use super::jni::{FieldId, Jni};
use super::jvmti::extensions::MountedVirtualThread;
use crate::lock::{Memo, assert_none_held};
use jni_sys::{JNI_FALSE, jclass, jint, jmethodID, jobject, jvalue};
use jvmpi_jvmti_sys::{JVMTI_CLASS_STATUS_INITIALIZED, jthread};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr;

impl Jni {
    pub fn is_virtual(self, thread: jobject) -> bool {
        const SINCE: u32 = 21;
        super::get().feature_version() >= SINCE && {
            assert_none_held();
            let env = self.env();
            // SAFETY: the environment is that of this thread, the callers pass a live reference, and the function
            // exists since JDK 21.
            unsafe { ((**env).v19.IsVirtualThread)(env, thread) }
        }
    }
}

/// The class and the field for reading virtual threads.
pub struct VirtualThreads {
    class: &'static GlobalRef,
    carrier: FieldId,
}

/// Returns `None` on a JDK without virtual threads, and before the program has created the first. The class is not
/// initialized here: that would start a thread, which agents would not see while the VM is shutting down.
pub fn get(jni: Jni) -> Option<&'static VirtualThreads> {
    static CLASS: Memo<Option<GlobalRef>> = Memo::new();
    static THREADS: Memo<Option<VirtualThreads>> = Memo::new();
    if let Some(known) = THREADS.get() {
        return known.as_ref();
    }
    let class = CLASS.get_or_find(|| jni.frame(4, find_class)).as_ref()?;
    let status = super::get().jvmti.class_status(class.get()).unwrap_or(0);
    if status & JVMTI_CLASS_STATUS_INITIALIZED as jint == 0 {
        return None;
    }
    let find = || VirtualThreads::new(jni, class);
    THREADS.get_or_find(|| internals::CARRIER_THREAD.find(find)).as_ref()
}

/// Finds the class without initializing it, which JNI's FindClass would do.
fn find_class(jni: Jni) -> Option<GlobalRef> {
    const FOR_NAME: &CStr = c"(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;";
    let reflection = jni.find_class(c"java/lang/Class")?;
    let for_name = jni.static_method(reflection, c"forName", FOR_NAME)?;
    let name = jvalue { l: jni.new_string(c"java.lang.VirtualThread")? };
    let arguments = [name, jvalue { z: JNI_FALSE }, jvalue { l: ptr::null_mut() }];
    GlobalRef::new(jni, jni.call_static_object(reflection, for_name, &arguments)?)
}

/// Detects whether a suspended thread is creating a virtual thread. Until that is complete, HotSpot crashes when the
/// heap is walked (`JvmtiEnvBase::is_vthread_alive`).
pub struct Making {
    /// The methods that run during the creation.
    methods: Vec<usize>,
    mounted: Option<MountedVirtualThread>,
}

/// Returns `None` in the same cases as [`get`].
pub fn making(jni: Jni) -> Option<&'static Making> {
    static MAKING: Memo<Making> = Memo::new();
    let threads = get(jni)?;
    Some(MAKING.get_or_find(|| {
        let jvmti = super::get().jvmti;
        let methods = jni.frame(4, |jni| {
            let factory = jni.find_class(c"java/lang/ThreadBuilders");
            let factory = factory.map(|class| named(class, c"newVirtualThread"));
            [named(threads.class(), c"<init>"), factory.unwrap_or_default()].concat()
        });
        Making { methods, mounted: jvmti.mounted_virtual_thread().unwrap_or(None) }
    }))
}

/// Returns the methods of a class with this name.
fn named(class: jclass, name: &CStr) -> Vec<usize> {
    let jvmti = super::get().jvmti;
    let Ok(methods) = jvmti.class_methods(class) else { return Vec::new() };
    let has_name = |method: &jmethodID| {
        jvmti.method_name(*method).is_ok_and(|(found, _)| found.as_c_str() == name)
    };
    methods.iter().copied().filter(has_name).map(|method| method.addr()).collect()
}

impl Making {
    /// Returns true if a suspended platform thread, or the virtual thread mounted on it, is creating a virtual thread.
    pub fn is_done_by(&self, jni: Jni, thread: jthread) -> bool {
        /// The methods of interest have at most this many frames above them.
        const FRAMES: usize = 64;
        let is_done = |thread| {
            let mut room = [MaybeUninit::uninit(); FRAMES];
            let walked = super::get().jvmti.stack_trace(thread, 0, &mut room).unwrap_or(0);
            // SAFETY: the walk wrote `walked` frames.
            let mut frames = room[..walked].iter().map(|frame| unsafe { frame.assume_init_ref() });
            frames.any(|frame| self.methods.contains(&frame.method.addr()))
        };
        is_done(thread)
            || jni.frame(4, |_| {
                self.mounted.and_then(|mounted| mounted.get(thread)).is_some_and(is_done)
            })
    }
}

impl VirtualThreads {
    fn new(jni: Jni, class: &'static GlobalRef) -> Option<Self> {
        let carrier = jni.field(class.get(), c"carrierThread", c"Ljava/lang/Thread;")?;
        Some(Self { class, carrier })
    }

    pub fn class(&self) -> jclass {
        self.class.get()
    }

    /// Returns the carrier on which this thread is mounted, as a local reference. `None` if the thread is not virtual
    /// or not mounted.
    pub fn carrier(&self, jni: Jni, thread: jthread) -> Option<jobject> {
        if !jni.instance_of(thread, self.class.get()) {
            return None;
        }
        let carrier = jni.object_field(thread, self.carrier);
        (!carrier.is_null()).then_some(carrier)
    }
}

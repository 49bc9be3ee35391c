//! The JVM of this process, and the shim's JVMTI environments.

use super::capabilities;
use super::invocation::get_env_of_the_vm;
use super::jni::Jni;
use super::jvmti::Jvmti;
use crate::lock::Memo;
use jni_sys::{JNI_EDETACHED, JNI_OK, JNI_VERSION_1_6, JNIEnv, JavaVM, jint};
use jvmpi_jvmti_sys::{
    JVMTI_PHASE_ONLOAD, JVMTI_PHASE_PRIMORDIAL, JVMTI_PHASE_START, JVMTI_VERSION_11, jvmtiEnv,
};
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

/// The JVM of this process.
pub struct Jvm {
    vm: *mut JavaVM,
    /// An environment that reads the class files of loaded classes. It is created first, so its hook runs first and
    /// gets the files as they were loaded.
    pub reader_env: Jvmti,
    /// The main environment. Its tags are the object IDs.
    pub jvmti: Jvmti,
    /// An environment for object searches, whose tags are removed after each search.
    pub lookup_env: Jvmti,
    /// An environment for classes. Its tags lead from a class to the shim's record of it. There are few of them, so
    /// a lookup is fast regardless of the number of objects. Its class file hook serves the agents, which thus get
    /// class files before the shim rewrites them.
    pub class_env: Jvmti,
}

// SAFETY: a JavaVM may be used by every thread (JNI specification, "The Invocation API").
unsafe impl Send for Jvm {}
// SAFETY: as above.
unsafe impl Sync for Jvm {}

static JVM: OnceLock<Jvm> = OnceLock::new();

/// Returns the JVM of this process.
///
/// # Panics
/// Panics if [`start`] has not succeeded yet.
pub fn get() -> &'static Jvm {
    JVM.get().expect("the shim was started")
}

/// Returns the JVM, if [`start`] has succeeded.
pub fn try_get() -> Option<&'static Jvm> {
    JVM.get()
}

/// Creates the JVMTI environments and adds all capabilities that agents' later requests may need.
///
/// # Safety
/// `vm` is the JVM of this process.
pub unsafe fn start(vm: *mut JavaVM) -> Result<&'static Jvm, String> {
    if let Some(jvm) = JVM.get() {
        return Ok(jvm);
    }
    let refused = |result: jint| {
        format!(
            "this JVM has no JVMTI 11 (GetEnv returned {result}); run the agent on JDK 11 or later"
        )
    };
    // SAFETY: as the caller promises.
    let new = || unsafe { environment(vm) }.map_err(refused);
    // The environment for classes is created last: `gc::deaths` of the shim relies on this.
    let (reader_env, jvmti, lookup_env, class_env) = (new()?, new()?, new()?, new()?);
    capabilities::take(reader_env, jvmti, lookup_env, class_env)
        .map_err(|error| format!("the JVM refused the capabilities that JVMPI needs: {error}"))?;
    Ok(JVM.get_or_init(|| Jvm { vm, reader_env, jvmti, lookup_env, class_env }))
}

/// Returns true if the VM is still starting. HotSpot executes commands to attach before its live phase.
///
/// # Safety
/// `vm` is the JVM of this process, and this thread is attached to it.
pub unsafe fn is_starting(vm: *mut JavaVM) -> bool {
    let phase = if let Some(jvm) = JVM.get() {
        jvm.jvmti.phase()
    } else {
        // SAFETY: as the caller promises.
        let env = match unsafe { environment(vm) } {
            Ok(env) => env,
            // HotSpot's answer before the start phase.
            Err(result) => return result == JNI_EDETACHED,
        };
        let phase = env.phase();
        // SAFETY: it is not used any more.
        unsafe { env.dispose() };
        phase
    };
    matches!(phase, Ok(JVMTI_PHASE_ONLOAD | JVMTI_PHASE_PRIMORDIAL | JVMTI_PHASE_START))
}

/// Creates a JVMTI environment. The error is the result of GetEnv.
///
/// # Safety
/// `vm` is the JVM of this process.
unsafe fn environment(vm: *mut JavaVM) -> Result<Jvmti, jint> {
    let mut env: *mut c_void = std::ptr::null_mut();
    // SAFETY: as the caller promises; the table has had GetEnv since JNI 1.2.
    match unsafe { ((**vm).v1_2.GetEnv)(vm, &mut env, JVMTI_VERSION_11 as jint) } {
        // SAFETY: GetEnv has just returned the environment.
        JNI_OK => Ok(unsafe { Jvmti::new(env.cast::<jvmtiEnv>()) }),
        result => Err(result),
    }
}

impl Jvm {
    pub fn vm(&self) -> *mut JavaVM {
        self.vm
    }

    /// Returns the Java version, for example 17; 0 if the VM does not report it.
    pub fn feature_version(&self) -> u32 {
        static VERSION: Memo<u32> = Memo::new();
        *VERSION.get_or_find(|| self.jvmti.feature_version())
    }

    /// Returns the name and the version of the VM. The VM reports them only before and after its start.
    pub fn name_and_version(&self) -> &'static str {
        static VERSION: Memo<String> = Memo::new();
        let property = |name: &CStr| {
            let property = self.jvmti.system_property(name);
            property.map(|value| value.to_string_lossy().into_owned()).unwrap_or_default()
        };
        VERSION.get_or_find(|| [c"java.vm.name", c"java.vm.version"].map(property).join(" "))
    }

    /// Returns true if the VM can be asked about a method that it may have freed.
    pub fn knows_freed_methods(&self) -> bool {
        static KNOWS: Memo<bool> = Memo::new();
        *KNOWS.get_or_find(|| {
            let version = self.name_and_version().rsplit(' ').next();
            version.is_some_and(knows_freed_methods)
        })
    }

    /// Returns JNI for the current thread, or `None` if it is not attached to the VM.
    pub fn jni(&self) -> Option<Jni> {
        let mut env: *mut c_void = std::ptr::null_mut();
        // SAFETY: the VM outlives the shim; GetEnv may be called by any thread.
        let result = unsafe { get_env_of_the_vm(self.vm, &mut env, JNI_VERSION_1_6) };
        // SAFETY: GetEnv has just returned this thread's environment.
        (result == JNI_OK).then(|| unsafe { Jni::new(env.cast::<JNIEnv>()) })
    }
}

/// Returns false for VM versions before JDK 11.0.23, 17.0.11 and 21.0.3, which crash when asked about a freed method
/// (JDK-8313816).
fn knows_freed_methods(version: &str) -> bool {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    match [next(), next(), next()] {
        [11, _, update] => update >= 23,
        [17, _, update] => update >= 11,
        [21, _, update] => update >= 3,
        [feature, ..] => feature >= 22,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_with_the_fix_know_freed_methods() {
        for version in ["11.0.23+9", "17.0.15+6-Debian-1deb12u1", "21.0.3+9-LTS", "22+36", "25.0.2"]
        {
            assert!(knows_freed_methods(version), "{version}");
        }
        for version in
            ["", "11.0.13+8", "17.0.9+9-LTS", "17.0.10", "18.0.2.1", "21-ea+35", "21.0.2"]
        {
            assert!(!knows_freed_methods(version), "{version}");
        }
    }
}

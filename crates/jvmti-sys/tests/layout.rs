//! Compares the layout of the bindings with C. For the `jvmti.h` of every JDK found, a C program prints sizes,
//! offsets, capability bits and constants, and each must equal the number in Rust.
//!
//! For a header of another release than the bindings, only names that this header declares are compared.

mod headers;

use std::collections::{HashMap, HashSet};
use std::env;
use std::fs;
use std::io::ErrorKind;
use std::mem::{offset_of, size_of};
use std::path::Path;
use std::process::Command;

use headers::Headers;
use jvmpi_jvmti_sys::*;
use libtest_mimic::{Arguments, Failed, Trial};

/// The numbers that change when a release adds an event or a function.
const GROWING: [&str; 4] = [
    "JVMTI_MAX_EVENT_TYPE_VAL",
    "JVMTI_VERSION",
    "sizeof(jvmtiEventCallbacks)",
    "sizeof(jvmtiInterface_1)",
];

fn main() {
    let args = Arguments::from_args();
    let skipped = |reason: &str| {
        Trial::test("layout", || Ok(()))
            .with_kind(format!("skipped: {reason}"))
            .with_ignored_flag(true)
    };
    let mut trials: Vec<Trial> = Headers::find()
        .into_iter()
        .map(|headers| {
            let name = format!("layout of {}", headers.include.join("jvmti.h").display());
            Trial::test(name, move || same_layout(&headers))
        })
        .collect();
    if trials.is_empty() {
        trials.push(skipped("no jvmti.h"));
    } else if Command::new(c_compiler())
        .arg("--version")
        .output()
        .is_err_and(|error| error.kind() == ErrorKind::NotFound)
    {
        trials = vec![skipped("no C compiler")];
    }
    libtest_mimic::run(&args, trials).exit();
}

fn same_layout(headers: &Headers) -> Result<(), Failed> {
    let same_release = headers.major_version() << JVMTI_VERSION_SHIFT_MAJOR
        == JVMTI_VERSION & JVMTI_VERSION_MASK_MAJOR;
    let facts = facts();
    if same_release {
        nothing_is_left_out(headers, &facts)?;
    }
    let known: HashSet<&str> =
        headers.text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let facts: Vec<Fact> = facts
        .into_iter()
        .filter(|fact| same_release || !GROWING.contains(&fact.expression.as_str()))
        .filter(|fact| same_release || known.contains(fact.identifier.as_str()))
        .collect();

    let in_c = ask_c(headers, &facts)?;
    let differences: Vec<String> = facts
        .iter()
        .filter(|fact| in_c[&fact.expression] != fact.value)
        .map(|fact| {
            format!("{}: {} in C, {} in Rust", fact.expression, in_c[&fact.expression], fact.value)
        })
        .collect();
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n").into()) }
}

/// Checks that [`facts`] lists every capability and every pointer of the two tables.
fn nothing_is_left_out(headers: &Headers, facts: &[Fact]) -> Result<(), Failed> {
    let capabilities = headers.text.matches("unsigned int can_").count();
    let slots = size_of::<jvmtiInterface_1>() / size_of::<usize>();
    let callbacks = size_of::<jvmtiEventCallbacks>() / size_of::<usize>();
    for (prefix, count) in [
        ("can_", capabilities),
        ("offsetof(jvmtiInterface_1,", slots),
        ("offsetof(jvmtiEventCallbacks,", callbacks),
    ] {
        let listed = facts.iter().filter(|fact| fact.expression.starts_with(prefix)).count();
        if listed != count {
            return Err(format!("{listed} of {count} facts are listed for {prefix}").into());
        }
    }
    Ok(())
}

/// Evaluates every expression in a C program that includes the header.
fn ask_c(headers: &Headers, facts: &[Fact]) -> Result<HashMap<String, i64>, Failed> {
    let mut program = String::from(
        r#"
        #include <jvmti.h>
        #include <stddef.h>
        #include <stdio.h>
        #include <string.h>

        static long long lowest_bit(const jvmtiCapabilities *capabilities) {
            unsigned char bytes[sizeof *capabilities];
            memcpy(bytes, capabilities, sizeof bytes);
            for (int bit = 0; bit < 8 * (int)sizeof bytes; bit++)
                if (bytes[bit / 8] >> bit % 8 & 1)
                    return bit;
            return -1;
        }

        int main(void) {
        "#,
    );
    for Fact { expression, .. } in facts {
        let value = if expression.starts_with("can_") {
            format!("lowest_bit(&(jvmtiCapabilities){{ .{expression} = 1 }})")
        } else {
            format!("(long long)({expression})")
        };
        program += &format!("printf(\"%lld %s\\n\", {value}, \"{expression}\");\n");
    }
    program += "return 0; }";

    let stem = format!("layout-{}", headers.include.to_string_lossy().replace('/', "-"));
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let executable = directory.join(&stem);
    let source = directory.join(format!("{stem}.c"));
    fs::write(&source, program)?;
    // `CC` names a compiler for the target machine.
    let mut compiler = Command::new(c_compiler());
    let compiled =
        compiler.args(headers.include_args()).arg("-o").arg(&executable).arg(&source).output()?;
    if !compiled.status.success() {
        return Err(String::from_utf8_lossy(&compiled.stderr).into_owned().into());
    }
    let answers = String::from_utf8(Command::new(&executable).output()?.stdout)?;
    let answers: HashMap<String, i64> = answers
        .lines()
        .map(|line| {
            let (value, expression) = line.split_once(' ').ok_or("no answer")?;
            Ok((expression.to_owned(), value.parse()?))
        })
        .collect::<Result<_, Failed>>()?;
    if answers.len() == facts.len() { Ok(answers) } else { Err("C left out answers".into()) }
}

fn c_compiler() -> String {
    env::var("CC").unwrap_or_else(|_| "cc".to_owned())
}

/// A number on which C and Rust must agree.
struct Fact {
    /// The name that a header must declare for the fact to be compared.
    identifier: String,
    /// The number as a C expression. A capability stands for the position of its bit.
    expression: String,
    /// The number in Rust.
    value: i64,
}

impl Fact {
    fn new(identifier: &str, expression: String, value: usize) -> Fact {
        let value = value.try_into().expect("sizes and offsets are small");
        Fact { identifier: identifier.to_owned(), expression, value }
    }

    fn size(name: &str, size: usize) -> Fact {
        Fact::new(name, format!("sizeof({name})"), size)
    }

    fn offset(name: &str, field: &str, offset: usize) -> Fact {
        Fact::new(field, format!("offsetof({name}, {field})"), offset)
    }

    /// Creates the fact for a capability. `setter` is `set_` followed by the name of the bit-field.
    fn capability(setter: &str, capabilities: jvmtiCapabilities) -> Fact {
        let name = setter.strip_prefix("set_").expect("the name of a setter");
        // SAFETY: the structure consists of one bit-field unit, so all of its bits are initialized, and the
        // sizes are equal.
        let bytes: [u8; size_of::<jvmtiCapabilities>()] =
            unsafe { std::mem::transmute(capabilities) };
        let byte = bytes.iter().position(|&byte| byte != 0).expect("the setter sets a bit");
        let bit = bytes[byte].trailing_zeros() as usize;
        Fact::new(name, name.to_owned(), 8 * byte + bit)
    }

    /// Creates the fact for a constant, with `name` and `value` as in the text of the bindings.
    fn constant(name: &str, value: &str) -> Fact {
        let value = value.parse().expect("the value of a constant is a number");
        Fact { identifier: name.to_owned(), expression: name.to_owned(), value }
    }
}

macro_rules! structs {
    ($($name:ident { $($field:ident),* $(,)? })*) => {
        vec![$(
            Fact::size(stringify!($name), size_of::<$name>()),
            $(Fact::offset(stringify!($name), stringify!($field), offset_of!($name, $field)),)*
        )*]
    };
}

macro_rules! capabilities {
    ($($setter:ident),* $(,)?) => {
        [$({
            let mut capabilities = jvmtiCapabilities::default();
            capabilities.$setter(1);
            Fact::capability(stringify!($setter), capabilities)
        }),*]
    };
}

fn facts() -> Vec<Fact> {
    let mut facts = structs! {
        jvmtiThreadInfo { name, priority, is_daemon, thread_group, context_class_loader }
        jvmtiMonitorStackDepthInfo { monitor, stack_depth }
        jvmtiThreadGroupInfo { parent, name, max_priority, is_daemon }
        jvmtiFrameInfo { method, location }
        jvmtiStackInfo { thread, state, frame_buffer, frame_count }
        jvmtiHeapReferenceInfoField { index }
        jvmtiHeapReferenceInfoArray { index }
        jvmtiHeapReferenceInfoConstantPool { index }
        jvmtiHeapReferenceInfoStackLocal {
            thread_tag, thread_id, depth, method, location, slot,
        }
        jvmtiHeapReferenceInfoJniLocal { thread_tag, thread_id, depth, method }
        jvmtiHeapReferenceInfoReserved {
            reserved1, reserved2, reserved3, reserved4, reserved5, reserved6, reserved7, reserved8,
        }
        jvmtiHeapReferenceInfo { field, array, constant_pool, stack_local, jni_local, other }
        jvmtiHeapCallbacks {
            heap_iteration_callback, heap_reference_callback, primitive_field_callback,
            array_primitive_value_callback, string_primitive_value_callback, reserved5, reserved6,
            reserved7, reserved8, reserved9, reserved10, reserved11, reserved12, reserved13,
            reserved14, reserved15,
        }
        jvmtiClassDefinition { klass, class_byte_count, class_bytes }
        jvmtiMonitorUsage {
            owner, entry_count, waiter_count, waiters, notify_waiter_count, notify_waiters,
        }
        jvmtiLineNumberEntry { start_location, line_number }
        jvmtiLocalVariableEntry {
            start_location, length, name, signature, generic_signature, slot,
        }
        jvmtiParamInfo { name, kind, base_type, null_ok }
        jvmtiExtensionFunctionInfo {
            func, id, short_description, param_count, params, error_count, errors,
        }
        jvmtiExtensionEventInfo {
            extension_event_index, id, short_description, param_count, params,
        }
        jvmtiTimerInfo {
            max_value, may_skip_forward, may_skip_backward, kind, reserved1, reserved2,
        }
        jvmtiAddrLocationMap { start_address, location }
        jvmtiEventCallbacks {
            VMInit, VMDeath, ThreadStart, ThreadEnd, ClassFileLoadHook, ClassLoad, ClassPrepare,
            VMStart, Exception, ExceptionCatch, SingleStep, FramePop, Breakpoint, FieldAccess,
            FieldModification, MethodEntry, MethodExit, NativeMethodBind, CompiledMethodLoad,
            CompiledMethodUnload, DynamicCodeGenerated, DataDumpRequest, reserved72, MonitorWait,
            MonitorWaited, MonitorContendedEnter, MonitorContendedEntered, reserved77, reserved78,
            reserved79, ResourceExhausted, GarbageCollectionStart, GarbageCollectionFinish,
            ObjectFree, VMObjectAlloc, reserved85, SampledObjectAlloc, VirtualThreadStart,
            VirtualThreadEnd,
        }
        jvmtiInterface_1 {
            reserved1, SetEventNotificationMode, GetAllModules, GetAllThreads, SuspendThread,
            ResumeThread, StopThread, InterruptThread, GetThreadInfo, GetOwnedMonitorInfo,
            GetCurrentContendedMonitor, RunAgentThread, GetTopThreadGroups, GetThreadGroupInfo,
            GetThreadGroupChildren, GetFrameCount, GetThreadState, GetCurrentThread,
            GetFrameLocation, NotifyFramePop, GetLocalObject, GetLocalInt, GetLocalLong,
            GetLocalFloat, GetLocalDouble, SetLocalObject, SetLocalInt, SetLocalLong,
            SetLocalFloat, SetLocalDouble, CreateRawMonitor, DestroyRawMonitor, RawMonitorEnter,
            RawMonitorExit, RawMonitorWait, RawMonitorNotify, RawMonitorNotifyAll, SetBreakpoint,
            ClearBreakpoint, GetNamedModule, SetFieldAccessWatch, ClearFieldAccessWatch,
            SetFieldModificationWatch, ClearFieldModificationWatch, IsModifiableClass, Allocate,
            Deallocate, GetClassSignature, GetClassStatus, GetSourceFileName, GetClassModifiers,
            GetClassMethods, GetClassFields, GetImplementedInterfaces, IsInterface, IsArrayClass,
            GetClassLoader, GetObjectHashCode, GetObjectMonitorUsage, GetFieldName,
            GetFieldDeclaringClass, GetFieldModifiers, IsFieldSynthetic, GetMethodName,
            GetMethodDeclaringClass, GetMethodModifiers, ClearAllFramePops, GetMaxLocals,
            GetArgumentsSize, GetLineNumberTable, GetMethodLocation, GetLocalVariableTable,
            SetNativeMethodPrefix, SetNativeMethodPrefixes, GetBytecodes, IsMethodNative,
            IsMethodSynthetic, GetLoadedClasses, GetClassLoaderClasses, PopFrame,
            ForceEarlyReturnObject, ForceEarlyReturnInt, ForceEarlyReturnLong,
            ForceEarlyReturnFloat, ForceEarlyReturnDouble, ForceEarlyReturnVoid, RedefineClasses,
            GetVersionNumber, GetCapabilities, GetSourceDebugExtension, IsMethodObsolete,
            SuspendThreadList, ResumeThreadList, AddModuleReads, AddModuleExports, AddModuleOpens,
            AddModuleUses, AddModuleProvides, IsModifiableModule, GetAllStackTraces,
            GetThreadListStackTraces, GetThreadLocalStorage, SetThreadLocalStorage, GetStackTrace,
            reserved105, GetTag, SetTag, ForceGarbageCollection,
            IterateOverObjectsReachableFromObject, IterateOverReachableObjects, IterateOverHeap,
            IterateOverInstancesOfClass, reserved113, GetObjectsWithTags, FollowReferences,
            IterateThroughHeap, reserved117, SuspendAllVirtualThreads, ResumeAllVirtualThreads,
            SetJNIFunctionTable, GetJNIFunctionTable, SetEventCallbacks, GenerateEvents,
            GetExtensionFunctions, GetExtensionEvents, SetExtensionEventCallback,
            DisposeEnvironment, GetErrorName, GetJLocationFormat, GetSystemProperties,
            GetSystemProperty, SetSystemProperty, GetPhase, GetCurrentThreadCpuTimerInfo,
            GetCurrentThreadCpuTime, GetThreadCpuTimerInfo, GetThreadCpuTime, GetTimerInfo,
            GetTime, GetPotentialCapabilities, reserved141, AddCapabilities,
            RelinquishCapabilities, GetAvailableProcessors, GetClassVersionNumbers,
            GetConstantPool, GetEnvironmentLocalStorage, SetEnvironmentLocalStorage,
            AddToBootstrapClassLoaderSearch, SetVerboseFlag, AddToSystemClassLoaderSearch,
            RetransformClasses, GetOwnedMonitorStackDepthInfo, GetObjectSize, GetLocalInstance,
            SetHeapSamplingInterval,
        }
    };
    facts.push(Fact::size("jvmtiCapabilities", size_of::<jvmtiCapabilities>()));
    facts.extend(capabilities! {
        set_can_tag_objects, set_can_generate_field_modification_events,
        set_can_generate_field_access_events, set_can_get_bytecodes,
        set_can_get_synthetic_attribute, set_can_get_owned_monitor_info,
        set_can_get_current_contended_monitor, set_can_get_monitor_info, set_can_pop_frame,
        set_can_redefine_classes, set_can_signal_thread, set_can_get_source_file_name,
        set_can_get_line_numbers, set_can_get_source_debug_extension,
        set_can_access_local_variables, set_can_maintain_original_method_order,
        set_can_generate_single_step_events, set_can_generate_exception_events,
        set_can_generate_frame_pop_events, set_can_generate_breakpoint_events, set_can_suspend,
        set_can_redefine_any_class, set_can_get_current_thread_cpu_time,
        set_can_get_thread_cpu_time, set_can_generate_method_entry_events,
        set_can_generate_method_exit_events, set_can_generate_all_class_hook_events,
        set_can_generate_compiled_method_load_events, set_can_generate_monitor_events,
        set_can_generate_vm_object_alloc_events, set_can_generate_native_method_bind_events,
        set_can_generate_garbage_collection_events, set_can_generate_object_free_events,
        set_can_force_early_return, set_can_get_owned_monitor_stack_depth_info,
        set_can_get_constant_pool, set_can_set_native_method_prefix, set_can_retransform_classes,
        set_can_retransform_any_class, set_can_generate_resource_exhaustion_heap_events,
        set_can_generate_resource_exhaustion_threads_events, set_can_generate_early_vmstart,
        set_can_generate_early_class_hook_events, set_can_generate_sampled_object_alloc_events,
        set_can_support_virtual_threads,
    });
    facts.extend(constants());
    facts
}

fn constants() -> impl Iterator<Item = Fact> {
    let constants = include_str!("../src/bindings.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("pub const ")?.strip_suffix(';'));
    constants.map(|constant| {
        let (name, typed_value) = constant.split_once(": ").expect("a constant has a type");
        let (_, value) = typed_value.split_once(" = ").expect("a constant has a value");
        Fact::constant(name, value)
    })
}

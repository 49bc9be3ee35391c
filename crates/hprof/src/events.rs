//! The events that HPROF enables.

use jvmpi::EventType;
use jvmpi_formats::hprof::options::{Cpu, Options};

/// Returns the events that the options need.
pub fn events(options: &Options) -> Vec<EventType> {
    use EventType::*;
    let mut events = vec![
        ClassUnload,
        ThreadStart,
        ThreadEnd,
        DataDumpRequest,
        DataResetRequest,
        JvmInitDone,
        JvmShutDown,
        GcStart,
        GcFinish,
    ];
    if !options.names_methods_only() {
        events.push(ClassLoad);
    }
    events.extend(costly_events(options));
    events
}

/// Returns the costly ones of these events. They are disabled when the profiling ends.
pub fn costly_events(options: &Options) -> Vec<EventType> {
    use EventType::*;
    let mut events = Vec::new();
    if matches!(options.cpu, Some(Cpu::Times | Cpu::Old)) {
        events.extend([MethodEntry, MethodExit]);
    }
    if options.monitor {
        events.extend([
            RawMonitorContendedEnter,
            RawMonitorContendedEntered,
            MonitorContendedEnter,
            MonitorContendedEntered,
            MonitorWait,
            MonitorWaited,
        ]);
    }
    if options.sites || options.heap_dump {
        events.push(ObjectAlloc);
    }
    if options.sites || options.heap_dump || options.monitor {
        events.extend([ObjectFree, ObjectMove, ArenaDelete]);
    }
    if options.heap_dump {
        events.extend([JniGlobalrefAlloc, JniGlobalrefFree]);
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_loads_are_enabled_only_if_classes_are_written() {
        let channel = format!("channel=localhost:1,secret={}", "0".repeat(32));
        for (options, told) in [
            ("cpu=samples", false),
            ("cpu=wall", false),
            ("cpu=samples,file=x.svg,thread=y", false),
            ("cpu=samples,format=b", true),
            ("cpu=samples,monitor=y", true),
            ("cpu=samples,heap=sites", true),
            ("cpu=samples,heap=sites,sample=512k", false),
            ("heap=sites,sample=512k", false),
            ("heap=sites,sample=512k,monitor=y", true),
            ("heap=sites,sample=512k,net=localhost:1", true),
            ("cpu=samples,net=localhost:1", true),
            (&format!("cpu=samples,{channel}"), false),
            (&format!("cpu=samples,monitor=y,{channel}"), true),
            ("cpu=times", true),
            ("", true),
        ] {
            let parsed = Options::parse(options, 1).unwrap().expect("no help");
            assert_eq!(events(&parsed).contains(&EventType::ClassLoad), told, "{options}");
        }
    }
}

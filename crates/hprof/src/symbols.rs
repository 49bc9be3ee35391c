//! The data on classes, methods and threads: the tables of the profile, and the current meaning of JVMPI's IDs.

use crate::call_times::{self, NewCall};
use jvmpi_formats::profile::{
    Class, ClassSerial, Frame, FrameId, Label, Line, Method, MethodId, NameId, ObjectId, Profile,
    StackId, Thread, ThreadSerial, Time, TraceSerial, Type, WallState,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The tables of classes, methods and threads. The lock is held for a lookup or an addition, never while the VM is
/// called or data is written.
#[derive(Debug)]
pub struct Symbols {
    /// The tables, without sections. They only grow.
    pub profile: Profile,
    methods: FxHashMap<usize, MethodId>,
    /// The frames of calls, by `jmethodID`.
    calls: FxHashMap<usize, FrameId>,
    classes: FxHashMap<u64, Arc<LoadedClass>>,
    threads: FxHashMap<usize, ThreadSerial>,
    /// The numbers of threads by their objects, also of ended ones.
    by_object: FxHashMap<u64, ThreadSerial>,
    /// The events of threads and classes that are to be written to files, in this order.
    pub events: Vec<Event>,
    /// A buffer for the trace that is being looked up.
    frames: Vec<FrameId>,
    /// True between recordings: then ended threads and unloaded classes are removed.
    idle: bool,
    /// The number of names after ended threads and unloaded classes were last removed.
    names: usize,
    /// The largest thread and class numbers that were assigned.
    last_thread: u32,
    last_class: u32,
}

/// An event of a thread or a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The thread has started.
    ThreadStart(ThreadSerial),
    /// The thread has ended.
    ThreadEnd(ThreadSerial),
    /// The class was unloaded.
    ClassUnload(ClassSerial),
}

/// The data of CLASS_LOAD that a dump does not repeat.
#[derive(Clone, Debug, Default)]
pub struct LoadedClass {
    /// Its number.
    pub serial: ClassSerial,
    /// Its name.
    pub name: NameId,
    /// The number of its direct interfaces.
    pub interfaces: usize,
    /// Its static fields.
    pub statics: Box<[(NameId, Type)]>,
    /// The types of the static fields, as readers of dumps need them.
    pub static_types: Box<[Type]>,
    /// The fields of its instances.
    pub fields: Box<[(NameId, Type)]>,
    /// The `jmethodID`s of its methods.
    methods: Box<[usize]>,
}

/// A class as reported by CLASS_LOAD. A field has the first character of its descriptor.
#[derive(Debug, Default)]
pub struct NewClass {
    /// The class.
    pub object: u64,
    /// Its name.
    pub name: String,
    /// The name of its source file.
    pub source: String,
    /// The number of its direct interfaces.
    pub interfaces: usize,
    /// `jmethodID`, name and signature of each method.
    pub methods: Vec<(usize, String, String)>,
    /// Name and descriptor of each static field.
    pub statics: Vec<(String, u8)>,
    /// Name and descriptor of each other field.
    pub fields: Vec<(String, u8)>,
}

/// A thread as reported by THREAD_START.
#[derive(Debug, Default)]
pub struct NewThread {
    /// Its `JNIEnv *`.
    pub env: usize,
    /// The Thread object.
    pub object: u64,
    /// Its name.
    pub name: String,
    /// The name of its group.
    pub group: String,
    /// The name of the parent of its group.
    pub parent_group: String,
}

/// The trace without frames, for objects and threads whose trace is not known. Its number and those below are those of
/// JDK 8: traces count from here, threads and classes from the next number.
pub const NO_TRACE: TraceSerial = TraceSerial(300_000);
const NO_THREAD: u32 = 200_000;
const NO_CLASS: u32 = 100_000;

/// Returns tables with the trace [`NO_TRACE`] only.
fn empty_profile() -> Profile {
    let mut profile = Profile::default();
    profile.traces.insert(NO_TRACE, ThreadSerial(0), &[]);
    profile
}

impl Default for Symbols {
    fn default() -> Self {
        Self {
            profile: empty_profile(),
            methods: FxHashMap::default(),
            calls: FxHashMap::default(),
            classes: FxHashMap::default(),
            threads: FxHashMap::default(),
            by_object: FxHashMap::default(),
            events: Vec::new(),
            frames: Vec::new(),
            idle: false,
            names: 0,
            last_thread: NO_THREAD,
            last_class: NO_CLASS,
        }
    }
}

/// The replacement for a name that the VM does not know.
const UNKNOWN: &str = "<Unknown>";

impl Symbols {
    /// Handles CLASS_LOAD. A class that is already known does not change.
    pub fn class_load(&mut self, class: NewClass, trace: TraceSerial) {
        if self.classes.contains_key(&class.object) {
            return;
        }
        let names = &mut self.profile.names;
        let mut intern = |name: &str| names.intern(name);
        let name = intern(&class.name);
        let source = intern(if class.source.is_empty() { UNKNOWN } else { &class.source });
        let mut fields = |fields: &[(String, u8)]| {
            let field =
                |(name, descriptor): &(String, u8)| (intern(name), of_descriptor(*descriptor));
            fields.iter().map(field).collect()
        };
        let (statics, fields) = (fields(&class.statics), fields(&class.fields));
        for (id, method, signature) in &class.methods {
            let (method, signature) = (intern(method), intern(signature));
            let method = Method { class: name, name: method, signature, source };
            let methods = &mut self.profile.methods;
            // A call of the method may precede this event. Then it already has an entry, to which traces refer.
            if !self.methods.get(id).is_some_and(|early| methods.replace(*early, method)) {
                self.methods.insert(*id, methods.intern(method));
            }
        }
        self.last_class += 1;
        let serial = ClassSerial(self.last_class);
        let object = ObjectId(class.object);
        self.profile.classes.insert(Class { serial, object, name, trace, unloaded: false });
        let methods = class.methods.iter().map(|method| method.0).collect();
        let interfaces = class.interfaces;
        let static_types = class.statics.iter().map(|field| of_descriptor(field.1)).collect();
        let loaded =
            LoadedClass { serial, name, interfaces, statics, static_types, fields, methods };
        self.classes.insert(class.object, Arc::new(loaded));
        self.forget_now_and_then();
    }

    /// Handles CLASS_UNLOAD. The VM may reuse the `jmethodID`s of the class.
    pub fn class_unload(&mut self, class: u64) {
        let Some(class) = self.classes.remove(&class) else { return };
        for method in &class.methods {
            self.methods.remove(method);
            self.calls.remove(method);
        }
        if let Some(class) = self.profile.classes.get_mut(class.serial) {
            class.unloaded = true;
            if !self.idle {
                self.events.push(Event::ClassUnload(class.serial));
            }
        }
    }

    /// Begins a recording, which lists the live threads first.
    pub fn begin(&mut self) {
        self.idle = false;
        self.forget_what_has_ended();
        self.events = self.profile.threads.keys().copied().map(Event::ThreadStart).collect();
    }

    /// Ends a recording, whose traces are no longer needed.
    pub fn end(&mut self) {
        self.idle = true;
        self.forget_what_has_ended();
    }

    /// Removes ended threads and unloaded classes if they may own most names.
    fn forget_now_and_then(&mut self) {
        if self.idle && self.profile.names.len() > 2 * self.names + 1000 {
            self.forget_what_has_ended();
        }
    }

    /// Rebuilds the tables with the live threads, the loaded classes and their methods. Threads and classes keep
    /// their numbers.
    fn forget_what_has_ended(&mut self) {
        let old = std::mem::take(&mut self.profile);
        let mut new = empty_profile();
        let intern = |new: &mut Profile, name| new.names.intern(old.names.get(name));
        for thread in old.threads.values().filter(|thread| !thread.ended) {
            let thread = Thread {
                name: intern(&mut new, thread.name),
                group: intern(&mut new, thread.group),
                parent_group: intern(&mut new, thread.parent_group),
                trace: NO_TRACE,
                ..*thread
            };
            new.threads.insert(thread.serial, thread);
        }
        self.by_object.retain(|_, serial| new.threads.contains_key(serial));
        for class in old.classes.iter().filter(|class| !class.unloaded) {
            let name = intern(&mut new, class.name);
            new.classes.insert(Class { name, trace: NO_TRACE, ..*class });
        }
        for class in self.classes.values_mut() {
            let mut fields = |fields: &[(NameId, Type)]| {
                fields.iter().map(|(name, of)| (intern(&mut new, *name), *of)).collect()
            };
            let (statics, own) = (fields(&class.statics), fields(&class.fields));
            let loaded = LoadedClass {
                serial: class.serial,
                name: intern(&mut new, class.name),
                interfaces: class.interfaces,
                statics,
                static_types: class.static_types.clone(),
                fields: own,
                methods: class.methods.clone(),
            };
            *class = Arc::new(loaded);
        }
        for id in self.methods.values_mut() {
            let Method { class, name, signature, source } =
                old.methods.get(*id).unwrap_or_default();
            let [class, name, signature, source] =
                [class, name, signature, source].map(|name| intern(&mut new, name));
            *id = new.methods.intern(Method { class, name, signature, source });
        }
        self.events = Vec::new();
        self.frames = Vec::new();
        self.calls.clear();
        self.names = new.names.len();
        self.profile = new;
    }

    /// Returns the class with this ID.
    pub fn class(&self, class: u64) -> Option<&LoadedClass> {
        self.classes.get(&class).map(|class| &**class)
    }

    /// Returns all loaded classes, by their IDs.
    pub fn classes(&self) -> FxHashMap<u64, Arc<LoadedClass>> {
        self.classes.clone()
    }

    /// Handles THREAD_START. A thread that is already known does not change.
    pub fn thread_start(&mut self, thread: &NewThread, trace: TraceSerial) -> ThreadSerial {
        if let Some(serial) = self.threads.get(&thread.env) {
            return *serial;
        }
        let names = &mut self.profile.names;
        self.last_thread += 1;
        let serial = ThreadSerial(self.last_thread);
        let started = Thread {
            serial,
            object: ObjectId(thread.object),
            name: names.intern(&thread.name),
            group: names.intern(&thread.group),
            parent_group: names.intern(&thread.parent_group),
            trace,
            started: Some(Time::now()),
            ended: false,
        };
        self.profile.threads.insert(serial, started);
        self.threads.insert(thread.env, serial);
        self.by_object.insert(thread.object, serial);
        if !self.idle {
            self.events.push(Event::ThreadStart(serial));
        }
        self.forget_now_and_then();
        serial
    }

    /// Handles THREAD_END.
    pub fn thread_end(&mut self, env: usize) {
        let Some(serial) = self.threads.remove(&env) else { return };
        if self.idle {
            if let Some(thread) = self.profile.threads.shift_remove(&serial) {
                self.by_object.remove(&thread.object.0);
            }
            return;
        }
        self.events.push(Event::ThreadEnd(serial));
        if let Some(thread) = self.profile.threads.get_mut(&serial) {
            thread.ended = true;
        }
    }

    /// Returns the number of a thread, or 0 if it is not known.
    pub fn thread(&self, env: usize) -> ThreadSerial {
        self.threads.get(&env).copied().unwrap_or_default()
    }

    /// Returns the thread with this object, which may have ended.
    pub fn thread_of_object(&self, object: u64) -> Option<&Thread> {
        self.by_object.get(&object).and_then(|serial| self.profile.threads.get(serial))
    }

    /// Returns the number of the trace that is only this name.
    pub fn label(&mut self, thread: ThreadSerial, label: Label) -> TraceSerial {
        let frame = self.profile.label_frame(label);
        self.profile.traces.intern(thread, &[frame])
    }

    /// Returns true if the method has an entry: it was reported, or an earlier request was in vain.
    pub fn is_known(&self, id: usize) -> bool {
        self.methods.contains_key(&id)
    }

    /// Returns the method of a `jmethodID`. An unknown method gets its own entry, which CLASS_LOAD replaces. In a
    /// replay, a call can precede the CLASS_LOAD that another thread has received.
    pub fn method(&mut self, id: usize) -> MethodId {
        let Self { methods, profile, .. } = self;
        *methods.entry(id).or_insert_with(|| {
            let name = profile.names.intern(UNKNOWN);
            let signature = profile.names.intern(&format!("{id:#x}"));
            profile.methods.intern(Method { class: name, name, signature, source: name })
        })
    }

    /// Returns the names of the class and the method of a `jmethodID`, or empty strings if it is not known.
    pub fn name_of(&self, id: usize) -> (&str, &str) {
        let method = self.methods.get(&id).and_then(|method| self.profile.methods.get(*method));
        let names = &self.profile.names;
        method.map_or(("", ""), |method| (names.get(method.class), names.get(method.name)))
    }

    /// Returns the number of the trace with these frames (`jmethodID` and line), innermost first. The frame of
    /// `state`, if it is given, precedes them. If the stack was cut off, a frame that says so follows them.
    pub fn trace(
        &mut self,
        thread: ThreadSerial,
        state: Option<WallState>,
        frames: impl IntoIterator<Item = (usize, Line)>,
        truncated: bool,
    ) -> TraceSerial {
        let mut found = std::mem::take(&mut self.frames);
        found.clear();
        found.extend(state.map(|state| self.profile.state_frame(state)));
        for (method, line) in frames {
            let method = self.method(method);
            found.push(self.profile.frames.intern(Frame { method, line }));
        }
        found.extend(truncated.then(|| self.profile.label_frame(Label::Truncated)));
        let trace = self.profile.traces.intern(thread, &found);
        self.frames = found;
        trace
    }

    /// Returns the stack of a call with the innermost `depth` frames, without line numbers, and if it is new. Beyond
    /// about `most` stacks, methods have no callers.
    pub fn stack_of_call(
        &mut self,
        mut call: NewCall,
        depth: usize,
        most: usize,
    ) -> (StackId, bool) {
        let frame = self.calls.get(&call.method).copied().unwrap_or_else(|| {
            let method = self.method(call.method);
            let frame = self.profile.frames.intern(Frame { method, line: Line::Unknown });
            self.calls.insert(call.method, frame);
            frame
        });
        let traces = &mut self.profile.traces;
        if traces.stacks() > most {
            call.caller = StackId::EMPTY;
        }
        call_times::stack_of_call(traces, call, frame, depth)
    }
}

fn of_descriptor(first: u8) -> Type {
    Type::of_descriptor(first).unwrap_or(Type::Reference)
}

/// Brings the tables of `copy` up to date with those of `known`: new entries, changed threads and changed classes.
/// A profile can thus be written while its original grows.
pub fn bring_up_to_date(copy: &mut Profile, known: &Profile) {
    for index in copy.names.len()..known.names.len() {
        copy.names.intern(known.names.get(NameId(index as u32)));
    }
    for index in 0..known.methods.len() {
        let id = MethodId(index as u32);
        let Some(method) = known.methods.get(id) else { continue };
        if index >= copy.methods.len() {
            copy.methods.intern(method);
        } else if copy.methods.get(id) != Some(method) {
            copy.methods.replace(id, method);
        }
    }
    for index in copy.frames.len()..known.frames.len() {
        if let Some(frame) = known.frames.get(FrameId(index as u32)) {
            copy.frames.intern(frame);
        }
    }
    copy.traces.catch_up(&known.traces);
    for (serial, thread) in &known.threads {
        copy.threads.insert(*serial, *thread);
    }
    for class in known.classes.iter() {
        if copy.classes.get(class.serial) != Some(class) {
            copy.classes.insert(*class);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(object: u64, name: &str, methods: &[usize]) -> NewClass {
        let method = |id: &usize| (*id, format!("m{id}"), "()V".to_owned());
        NewClass {
            object,
            name: name.to_owned(),
            methods: methods.iter().map(method).collect(),
            ..NewClass::default()
        }
    }

    fn method_name(known: &mut Symbols, id: usize) -> String {
        let method = known.method(id);
        let method = known.profile.methods.get(method).unwrap();
        let names = &known.profile.names;
        format!("{}.{}", names.get(method.class), names.get(method.name))
    }

    #[test]
    fn a_number_means_the_method_that_has_it_now() {
        let mut known = Symbols::default();
        known.class_load(class(16, "A", &[100, 200]), TraceSerial(0));
        known.class_load(class(16, "B", &[100]), TraceSerial(0));
        assert_eq!(method_name(&mut known, 100), "A.m100");
        let old = known.trace(ThreadSerial(0), None, [(100, Line::Number(1))], false);
        known.class_unload(16);
        known.class_unload(16);
        assert!(known.class(16).is_none());
        known.class_load(class(32, "C", &[100]), TraceSerial(0));
        assert_eq!(method_name(&mut known, 100), "C.m100");
        assert_eq!(method_name(&mut known, 200), "<Unknown>.<Unknown>");
        assert_ne!(known.trace(ThreadSerial(0), None, [(100, Line::Number(1))], false), old);
        let unloaded: Vec<_> = known.profile.classes.iter().map(|class| class.unloaded).collect();
        assert_eq!(unloaded, [true, false]);
    }

    #[test]
    fn method_that_was_called_before_its_class_load_gets_its_name() {
        let (mut known, mut copy) = (Symbols::default(), Profile::default());
        let early = [100, 200].map(|id| known.method(id));
        bring_up_to_date(&mut copy, &known.profile);
        assert_eq!(method_name(&mut known, 100), "<Unknown>.<Unknown>");
        known.class_load(class(16, "A", &[100, 300]), TraceSerial(0));
        assert_eq!([100, 200].map(|id| known.method(id)), early);
        assert_eq!(method_name(&mut known, 100), "A.m100");
        assert_eq!(method_name(&mut known, 200), "<Unknown>.<Unknown>");
        bring_up_to_date(&mut copy, &known.profile);
        let all = |profile: &Profile| [0, 1, 2].map(|id| profile.methods.get(MethodId(id)));
        assert_eq!(all(&copy), all(&known.profile));
    }

    #[test]
    fn threads_are_counted_as_in_jdk_8_and_keep_their_numbers() {
        let mut known = Symbols::default();
        let thread = |env| NewThread { env, ..NewThread::default() };
        let start = |known: &mut Symbols, env| known.thread_start(&thread(env), TraceSerial(0)).0;
        assert_eq!(start(&mut known, 8), 200_001);
        assert_eq!(start(&mut known, 8), 200_001);
        assert_eq!(start(&mut known, 9), 200_002);
        known.thread_end(8);
        known.thread_end(8);
        assert_eq!(known.thread(8), ThreadSerial(0));
        assert_eq!(start(&mut known, 8), 200_003);
        let ended: Vec<_> = known.profile.threads.values().map(|thread| thread.ended).collect();
        assert_eq!(ended, [true, false, false]);
    }

    #[test]
    fn a_copy_has_what_the_original_has() {
        let (mut known, mut copy) = (Symbols::default(), Profile::default());
        for round in 0..3_usize {
            known.class_load(
                class(16 + round as u64, &format!("C{round}"), &[round]),
                TraceSerial(0),
            );
            known.trace(
                ThreadSerial(0),
                None,
                [(round, Line::Number(7)), (0, Line::Native)],
                false,
            );
            known.thread_start(&NewThread { env: round, ..NewThread::default() }, TraceSerial(1));
            known.thread_end(round.wrapping_sub(1));
            known.class_unload(16 + round as u64);
            bring_up_to_date(&mut copy, &known.profile);
            let original = &known.profile;
            assert_eq!(copy.names.len(), original.names.len());
            assert!(copy.traces.iter().eq(original.traces.iter()));
            assert!(copy.classes.iter().eq(original.classes.iter()));
            assert!(copy.threads.iter().eq(&original.threads));
            for trace in original.traces.iter() {
                assert!(trace.frames.iter().all(|id| copy.frame(id) == original.frame(id)));
            }
        }
    }

    #[test]
    fn between_recordings_what_has_ended_is_forgotten() {
        let mut known = Symbols::default();
        let thread = |env| NewThread { env, name: format!("thread {env}"), ..NewThread::default() };
        let start = |known: &mut Symbols, env| known.thread_start(&thread(env), TraceSerial(0));
        known.class_load(class(16, "A", &[100]), TraceSerial(0));
        known.class_load(class(32, "B", &[200]), TraceSerial(0));
        let lives = start(&mut known, 1);
        start(&mut known, 2);
        known.trace(lives, None, [(100, Line::Number(1)), (200, Line::Native)], false);
        known.thread_end(2);
        known.class_unload(32);
        known.end();
        for env in 10..10_000 {
            start(&mut known, env);
            known.thread_end(env);
        }
        assert!(known.profile.names.len() < 1_100);
        let last = start(&mut known, 3);
        known.begin();
        let threads: Vec<_> = known.profile.threads.keys().copied().collect();
        assert_eq!((threads, known.thread(1)), (vec![lives, last], lives));
        assert_eq!(known.events, [Event::ThreadStart(lives), Event::ThreadStart(last)]);
        assert_eq!(known.profile.names.find("B"), None);
        assert_eq!(known.profile.traces.len(), 1);
        assert_eq!(method_name(&mut known, 100), "A.m100");
        let names = &known.profile.names;
        assert_eq!(known.class(16).map(|class| names.get(class.name)), Some("A"));
        let classes: Vec<_> = known.profile.classes.iter().map(|class| class.serial.0).collect();
        assert_eq!(classes, [100_001]);
        known.class_load(class(48, "C", &[]), TraceSerial(0));
        assert_eq!(known.class(48).map(|class| class.serial.0), Some(100_003));
    }
}

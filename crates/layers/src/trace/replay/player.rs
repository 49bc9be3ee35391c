//! A thread of the recording: its events go to the agent, and what the agent does in them is answered.

use super::envs::Env;
use super::{Known, Replay};
use super::{dumps, table};
use crate::trace::fields::{Fields, address};
use crate::trace::functions::Function;
use crate::trace::read::{Call, Event, Key, Record, Records};
use crate::trace::state::tag;
use jni_sys::jint;
use jvmpi_sys::*;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_uint, c_void};
use std::mem::{self, MaybeUninit};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of calls of an agent's own thread that are searched for one that was recorded.
const LOOK_AHEAD: usize = 64;
/// The number of calls inside each other that are played, in events that came in calls. A thread's stack has room for
/// more, but not for as many as a damaged recording may have.
const DEEPEST: usize = 64;

thread_local! {
    static CURRENT: Cell<*const Player> = const { Cell::new(ptr::null()) };
    /// The environment of a thread that is not of the recording.
    static ATTACHED: Cell<Option<&'static Env>> = const { Cell::new(None) };
}

/// A thread of the recording.
pub struct Player {
    replay: &'static Replay,
    /// Its place in [`Trace::threads`](crate::trace::Trace::threads).
    number: usize,
    records: RefCell<Records<'static>>,
    env: Cell<Option<&'static Env>>,
    /// The last record that was played had this place.
    key: Cell<Key>,
    /// Up to where it is this thread's turn.
    limit: Cell<Option<Key>>,
    scope: Cell<Scope>,
    /// Calls in this scope that the agent has not made, or not yet.
    passed: RefCell<Vec<Call>>,
    /// The number of calls whose records are being played, one inside the other.
    depth: Cell<usize>,
    /// METHOD_ENTRY and METHOD_EXIT, which are too many to be counted with all threads' others.
    methods: [Cell<u64>; 2],
}

/// The origin of the agent's calls.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// There is nothing of the agent's on the stack.
    None,
    /// From JVM_OnLoad.
    Load,
    /// From the handler of an event.
    Handler,
    /// From a function of the agent's own, which runs whenever it likes.
    Own,
}

impl Player {
    pub fn new(replay: &'static Replay, number: usize) -> Self {
        let key = replay.trace.threads()[number].first();
        Self {
            replay,
            number,
            records: RefCell::new(replay.trace.records(number)),
            env: Cell::new(None),
            key: Cell::new(key),
            limit: Cell::new(Some(key)),
            scope: Cell::new(Scope::None),
            passed: RefCell::default(),
            depth: Cell::new(0),
            methods: Default::default(),
        }
    }

    /// Returns the place of the current thread in the recording, if the thread is one of the recording.
    pub fn current_number() -> Option<usize> {
        Self::current().map(|player| player.number)
    }

    /// Returns the player of the current thread, if the thread is one of the recording.
    #[inline]
    pub fn current<'a>() -> Option<&'a Self> {
        // SAFETY: it is there as long as the pointer is, which is below on the stack.
        unsafe { CURRENT.get().as_ref() }
    }

    /// Has the agent's JVM_OnLoad run on this thread.
    pub fn load(&self, load: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        CURRENT.set(self);
        self.scope.set(Scope::Load);
        let loaded = load();
        self.scope.set(Scope::None);
        self.passed.take();
        loaded
    }

    /// Plays all records.
    pub fn play(&self) {
        CURRENT.set(self);
        self.replay.order.begin(self.number);
        while let Some(key) = self.next_key() {
            self.turn(key);
            while let Some((is_exit, method)) = self.next_hit() {
                self.method(is_exit, method);
            }
            let Some(record) = self.next() else { continue };
            match record {
                Record::Method { is_exit, method } => self.method(is_exit, method),
                Record::Event(event) => self.event(event, false),
                Record::Begin(..) => drop(self.inside_call(false)),
                Record::Run => self.run(),
                // Calls that JVM_OnLoad has not made.
                Record::Call(_) | Record::End | Record::Answer(_) => {}
            }
        }
        let problem = self.records.borrow().problem().cloned();
        problem.into_iter().for_each(|problem| self.replay.note(problem.to_string()));
        for (event_type, count) in
            [JVMPI_EVENT_METHOD_ENTRY, JVMPI_EVENT_METHOD_EXIT].iter().zip(&self.methods)
        {
            self.replay.delivered[*event_type as usize].fetch_add(count.get(), Ordering::Relaxed);
        }
        self.replay.order.end(self.number);
        CURRENT.set(ptr::null());
    }

    fn next_key(&self) -> Option<Key> {
        self.records.borrow_mut().key()
    }

    fn next(&self) -> Option<Record<'static>> {
        self.records.borrow_mut().next().map(|entry| entry.record)
    }

    #[inline]
    fn next_hit(&self) -> Option<(bool, u64)> {
        self.records.borrow_mut().next_hit()
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.records.borrow_mut().peek()
    }

    /// Waits until a record with this place may be played.
    #[inline]
    fn turn(&self, key: Key) {
        self.key.set(key);
        let is_own = self.scope.get() == Scope::Own;
        let goes_on = self.limit.get().is_none_or(|limit| key <= limit);
        if is_own || !goes_on || !self.replay.order.is_undisturbed(self.number) {
            self.limit.set(self.replay.order.take_turn(self.number, key));
        }
    }

    /// Returns the environment of the next event.
    #[inline]
    fn event_env(&self) -> &'static Env {
        let recorded = self.records.borrow().env();
        match self.env.get() {
            Some(env) if env.recorded == recorded => env,
            _ => {
                let env = self.replay.envs.of(recorded);
                self.env.set(Some(env));
                env
            }
        }
    }

    /// Sends METHOD_ENTRY or METHOD_EXIT.
    #[inline]
    fn method(&self, is_exit: bool, method: u64) {
        let event_type = if is_exit { JVMPI_EVENT_METHOD_EXIT } else { JVMPI_EVENT_METHOD_ENTRY };
        if self.replay.wants(event_type) {
            let count = &self.methods[usize::from(is_exit)];
            count.set(count.get() + 1);
            let method_id = ptr::with_exposed_provenance_mut(method as usize);
            let method = JVMPI_Event_method { method_id };
            self.notify(event_type, Scope::Handler, &mut |u| u.method = method);
        }
        self.end_scope();
    }

    /// Calls the agent's handler with the arm that `fill` fills; returns what it has left of it.
    #[inline]
    fn notify(
        &self,
        event_type: jint,
        scope: Scope,
        fill: &mut dyn FnMut(&mut JVMPI_Event_u),
    ) -> JVMPI_Event_u {
        let mut event = MaybeUninit::<JVMPI_Event>::uninit();
        let pointer = event.as_mut_ptr();
        let scope = self.scope.replace(scope);
        // SAFETY: the event is ours to write, `fill` fills the arm of its type, and the agent has written the
        // function into its table to be called like this.
        let u = unsafe {
            (*pointer).event_type = event_type;
            (*pointer).env_id = self.event_env().pointer();
            fill(&mut (*pointer).u);
            if let Some(notify_event) = table::handler() {
                notify_event(pointer);
            }
            (*pointer).u
        };
        self.scope.set(scope);
        u
    }

    /// Sends another event, if the agent has enabled or requested it.
    fn event(&self, mut event: Box<Event>, is_requested: bool) {
        let requested = event.event_type & JVMPI_REQUESTED_EVENT != 0;
        let known = event.event_type & !JVMPI_REQUESTED_EVENT;
        let env = self.event_env();
        let passed = self.passed.take();
        if if requested { is_requested } else { self.replay.wants(known) } {
            self.replay.delivered[known as usize].fetch_add(1, Ordering::Relaxed);
            self.translate(&mut event);
            let thread = self.new_thread(&event);
            thread.into_iter().for_each(|thread| thread.set_storage(ptr::null_mut()));
            let u = self.notify(event.event_type, Scope::Handler, &mut |u| *u = event.u);
            self.end_scope();
            match known {
                JVMPI_EVENT_CLASS_LOAD_HOOK => free_class_file(&event, &u),
                JVMPI_EVENT_THREAD_END => env.set_storage(ptr::null_mut()),
                _ => {}
            }
        } else {
            if known == JVMPI_EVENT_THREAD_START {
                self.translate(&mut event);
            }
            self.end_scope();
        }
        self.learn(event, env);
        self.passed.replace(passed);
    }

    /// Reads what the recorded agent did in the handler that has returned here, too.
    #[inline]
    fn end_scope(&self) {
        if self.peek().is_some_and(|tag| tag < tag::HIT) {
            self.end_scope_slowly();
        }
    }

    fn end_scope_slowly(&self) {
        while let Some(tag) = self.peek() {
            match tag {
                tag::END => {
                    drop(self.next());
                    break;
                }
                tag::BEGIN => {
                    drop(self.next());
                    drop(self.inside_call(false));
                }
                tag::ANSWER => drop(self.next()),
                tag if is_call(tag) => drop(self.next()),
                _ => break,
            }
        }
        self.passed.borrow_mut().clear();
    }

    /// Plays the records inside a call, and returns the call. Requested events go to the agent if it has made the same
    /// call.
    fn inside_call(&self, is_made: bool) -> Option<Call> {
        let depth = self.depth.replace(self.depth.get() + 1);
        let call = self.inside_call_at(depth, is_made);
        self.depth.set(depth);
        call
    }

    fn inside_call_at(&self, depth: usize, is_made: bool) -> Option<Call> {
        let is_played = depth < DEEPEST;
        if !is_played {
            self.replay.note("calls inside each other, too deep to be played");
        }
        // The number of calls that have begun inside this one.
        let mut inner = 0_usize;
        loop {
            let key = self.next_key()?;
            self.turn(key);
            match self.next()? {
                Record::Event(event) if is_played => self.event(event, is_made && inner == 0),
                Record::Method { is_exit, method } if is_played => self.method(is_exit, method),
                Record::Call(call) if inner == 0 => return Some(*call),
                Record::Call(_) => inner -= 1,
                Record::Begin(..) => inner += 1,
                _ => {}
            }
        }
    }

    /// Returns the recorded call that the agent makes now: the next one of the function, with arguments that match.
    /// Events that came in it are sent. None if it was not recorded.
    pub fn recorded_call(
        &self,
        function: Function,
        matches: impl Fn(&[u64; 3]) -> bool,
    ) -> Option<Call> {
        let is_it = |call: &Call| call.function == function && matches(&call.arguments);
        self.recorded(function, &is_it, &matches)
    }

    fn recorded(
        &self,
        function: Function,
        is_it: &dyn Fn(&Call) -> bool,
        matches: &dyn Fn(&[u64; 3]) -> bool,
    ) -> Option<Call> {
        if self.scope.get() == Scope::None {
            return None;
        }
        let passed = self.passed.borrow().iter().position(is_it);
        if let Some(passed) = passed {
            return Some(self.passed.borrow_mut().remove(passed));
        }
        let found = self.find(function, is_it, matches);
        self.go_on_if_own();
        found
    }

    fn find(
        &self,
        function: Function,
        is_it: &dyn Fn(&Call) -> bool,
        matches: &dyn Fn(&[u64; 3]) -> bool,
    ) -> Option<Call> {
        let scope = self.scope.get();
        let mut looked_at = 0;
        while looked_at < LOOK_AHEAD || scope == Scope::Handler {
            let tag = self.peek()?;
            let is_child = is_call(tag) || matches!(tag, tag::BEGIN | tag::ANSWER);
            if !is_child && (scope != Scope::Own || matches!(tag, tag::END | tag::RUN)) {
                return None;
            }
            // The agent's own function need not repeat the order of its calls within one round.
            let waits = tag == tag::CALL + Function::RawMonitorWait as u8;
            if waits && scope == Scope::Own && function != Function::RawMonitorWait {
                return None;
            }
            self.turn(self.next_key()?);
            match self.next()? {
                Record::Call(call) if is_it(&call) => return Some(*call),
                Record::Call(call) => self.pass(*call),
                Record::Begin(inner, arguments) => {
                    let is_made = inner == function && matches(&arguments);
                    // The agent's own calls in there are none of those that are looked for here.
                    let passed = self.passed.take();
                    let call = self.inside_call(is_made);
                    self.passed.replace(passed);
                    let call = call?;
                    if is_made {
                        return Some(call);
                    }
                    self.pass(call);
                }
                Record::Event(event) => self.event(event, false),
                Record::Method { is_exit, method } => self.method(is_exit, method),
                Record::Run | Record::End | Record::Answer(_) => {}
            }
            looked_at += 1;
        }
        None
    }

    /// Keeps a call that was recorded, and that the agent may make later.
    fn pass(&self, call: Call) {
        let is_answered = !matches!(
            call.function,
            Function::RequestEvent
                | Function::RunGC
                | Function::RawMonitorEnter
                | Function::RawMonitorExit
                | Function::RawMonitorWait
                | Function::RawMonitorNotifyAll
                | Function::RawMonitorDestroy
                | Function::SetThreadLocalStorage
                | Function::GetThreadLocalStorage
                | Function::DisableGC
                | Function::EnableGC
        );
        let mut passed = self.passed.borrow_mut();
        if is_answered && passed.len() < LOOK_AHEAD {
            passed.push(call);
        }
    }

    /// Sends CLASS_LOAD of a class that the agent requests and the recorded one did not, if the class was announced
    /// before. Calls of the handler are not in the recording then.
    pub fn tell_class(&self, class: u64) -> bool {
        let last = |known: &mut Known| Some(Arc::clone(&known.classes.get(&class)?.last));
        let Some(told) = self.replay.known(last) else {
            return false;
        };
        self.replay.delivered[JVMPI_EVENT_CLASS_LOAD as usize].fetch_add(1, Ordering::Relaxed);
        let requested = JVMPI_EVENT_CLASS_LOAD | JVMPI_REQUESTED_EVENT;
        self.notify(requested, Scope::None, &mut |u| *u = told.u);
        true
    }

    /// Returns the recorded call that has created the raw monitor of this name.
    pub fn recorded_monitor(&self, name: &CStr) -> Option<Call> {
        let is_it = |call: &Call| {
            let recorded = call.details.name;
            // SAFETY: it was read as a string.
            call.function == Function::RawMonitorCreate
                && !recorded.is_null()
                && unsafe { CStr::from_ptr(recorded) } == name
        };
        self.recorded(Function::RawMonitorCreate, &is_it, &|_| false)
    }

    /// Returns true if the agent makes the call that was recorded next. The call is read then, and events inside it are
    /// sent.
    pub fn follows(&self, function: Function) -> bool {
        if self.scope.get() == Scope::None {
            return false;
        }
        match self.peek() {
            Some(tag) if tag == tag::CALL + function as u8 => {
                drop(self.next());
                true
            }
            Some(tag::BEGIN) if self.records.borrow().next_begins(function) => {
                self.recorded_call(function, |_| true).is_some()
            }
            _ => false,
        }
    }

    /// On a thread of the agent's own, waits until the recorded one returned from its next RawMonitorWait. Records
    /// before that which this thread has not repeated are skipped. Returns false if there is no such call.
    pub fn recorded_wait(&self) -> bool {
        if self.scope.get() != Scope::Own {
            return false;
        }
        let function = Function::RawMonitorWait;
        let wait = self.find(function, &|call| call.function == function, &|_| true);
        // Answers of this round are none of the next one.
        self.passed.borrow_mut().clear();
        self.go_on_if_own();
        wait.is_some()
    }

    /// A call of a function of the agent's own is answered.
    fn go_on_if_own(&self) {
        if self.scope.get() == Scope::Own {
            self.replay.order.go_on(self.number, self.key.get());
        }
    }

    /// The agent's function for this thread begins, if the agent has created the thread.
    fn run(&self) {
        let thread = &self.replay.trace.threads()[self.number];
        let function =
            thread.function.and_then(|number| table::thread_function(self.replay, number));
        match function {
            Some(function) => {
                self.scope.set(Scope::Own);
                self.replay.order.run_own(true);
                self.go_on_if_own();
                // SAFETY: the agent has passed the function to be called like this.
                unsafe { function(ptr::null_mut()) };
                self.replay.order.run_own(false);
                self.scope.set(Scope::None);
                self.passed.borrow_mut().clear();
                self.limit.set(Some(self.key.get()));
                if let Some(key) = self.next_key() {
                    self.limit.set(self.replay.order.take_turn(self.number, key));
                }
            }
            None => self.replay.note("thread of the recorded agent that this one has not created"),
        }
        self.end_scope();
    }

    /// Returns the environment of a thread that starts, if an earlier thread without a recorded THREAD_END had the same
    /// one. The values that a thread stored before its THREAD_START are kept.
    fn new_thread(&self, event: &Event) -> Option<&'static Env> {
        if event.event_type != JVMPI_EVENT_THREAD_START {
            return None;
        }
        // SAFETY: an event of this type has this arm.
        let started = unsafe { event.u.thread_start };
        let env = address(started.thread_env_id);
        let earlier = self.replay.known(|known| known.thread_objects.get(&env).copied());
        let is_another = earlier.is_some_and(|earlier| earlier != address(started.thread_id));
        self.replay.envs.get(started.thread_env_id).filter(|_| is_another)
    }

    /// Puts in what is another one in this process.
    pub fn translate(&self, event: &mut Event) {
        let replay = self.replay;
        // SAFETY: the event was read, so that its arm is filled.
        unsafe {
            crate::trace::events::fields(&mut Translate(replay), event.event_type, &mut event.u);
            match event.event_type & !JVMPI_REQUESTED_EVENT {
                JVMPI_EVENT_HEAP_DUMP => {
                    let u = &mut event.u.heap_dump;
                    let new = dumps::heap_dump(replay, u.dump_level, between(u.begin, u.end));
                    event.memory.replace(new, &mut u.begin, &mut u.end);
                }
                JVMPI_EVENT_MONITOR_DUMP => {
                    let u = &mut event.u.monitor_dump;
                    let new = dumps::monitor_dump(replay, between(u.begin, u.end));
                    event.memory.replace(Some(new), &mut u.begin, &mut u.end);
                }
                JVMPI_EVENT_CLASS_LOAD_HOOK => {
                    let u = &mut event.u.class_load_hook;
                    (u.new_class_data, u.new_class_data_len) = (u.class_data, u.class_data_len);
                    u.malloc_f = Some(allocate);
                }
                JVMPI_EVENT_CLASS_LOAD => {
                    let class = address(event.u.class_load.class_id);
                    if let Some(told) = replay.known(|known| known.told(class, event)) {
                        event.u = told.u;
                        event.memory.share(told);
                    }
                }
                JVMPI_EVENT_COMPILED_METHOD_LOAD => {
                    let code = mem::take(&mut event.memory.code);
                    let u = &mut event.u.compiled_method_load;
                    let recorded = address(u.code_addr);
                    let code = replay.known(|known| known.learn_code(recorded, &code));
                    u.code_addr = code.as_ptr().cast_mut().cast();
                    // A damaged recording may have less code than it says.
                    u.code_size = u.code_size.min(jint::try_from(code.len()).unwrap_or(jint::MAX));
                    event.memory.share(code);
                }
                JVMPI_EVENT_COMPILED_METHOD_UNLOAD => {
                    let u = &mut event.u.compiled_method_unload;
                    let recorded = address(u.code_addr);
                    let code = replay.known(|known| known.codes.remove(&recorded));
                    // It is freed after the event.
                    if let Some(code) = code {
                        u.code_addr = code.as_ptr().cast_mut().cast();
                        event.memory.share(code);
                    }
                }
                _ => {}
            }
        }
    }

    /// Keeps what later calls may ask for, of an event that came on a thread with this environment.
    fn learn(&self, event: Box<Event>, env: &'static Env) {
        // SAFETY: the event was read, so that the arm of its type is filled.
        unsafe {
            match event.event_type & !JVMPI_REQUESTED_EVENT {
                JVMPI_EVENT_CLASS_LOAD => {
                    let u = event.u.class_load;
                    let class = address(u.class_id);
                    let count = usize::try_from(u.num_methods).unwrap_or(0);
                    let methods = (0..count).map(|i| address((*u.methods.add(i)).method_id));
                    self.replay.known(|known| {
                        known.class_of_method.extend(methods.map(|method| (method, class)));
                        known.learn_class(class, event);
                    });
                }
                JVMPI_EVENT_CLASS_UNLOAD => {
                    let class = address(event.u.class_unload.class_id);
                    self.replay.known(|known| known.classes.remove(&class));
                }
                JVMPI_EVENT_THREAD_END => {
                    let env = address(env.pointer());
                    self.replay.known(|known| known.thread_objects.remove(&env));
                }
                JVMPI_EVENT_THREAD_START => {
                    let u = event.u.thread_start;
                    let env = address(u.thread_env_id);
                    self.replay
                        .known(|known| known.thread_objects.insert(env, address(u.thread_id)));
                }
                _ => {}
            }
        }
    }
}

/// Returns true if the tag belongs to a call.
fn is_call(tag: u8) -> bool {
    (tag::CALL..tag::HIT).contains(&tag)
}

/// # Safety
/// The bytes are there.
unsafe fn between<'a>(begin: *mut c_char, end: *mut c_char) -> &'a [u8] {
    let count = end.addr().saturating_sub(begin.addr());
    if count == 0 {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(begin.cast(), count) }
}

unsafe extern "C" fn allocate(bytes: c_uint) -> *mut c_void {
    // SAFETY: any size will do.
    unsafe { libc::malloc(bytes as usize) }
}

/// The VM owns the class file that an agent wants instead.
fn free_class_file(event: &Event, u: &JVMPI_Event_u) {
    // SAFETY: an event of this type has this arm, and the specification wants memory of `allocate` there.
    unsafe {
        let data = u.class_load_hook.new_class_data;
        if data != event.u.class_load_hook.class_data {
            libc::free(data.cast());
        }
    }
}

/// Puts in the environments and raw monitors of this process.
struct Translate(&'static Replay);

impl Fields for Translate {
    fn env(&mut self, value: u64) -> u64 {
        if value == 0 { 0 } else { address(self.0.envs.of(value).pointer()) }
    }

    fn monitor(&mut self, value: u64) -> u64 {
        self.0
            .monitors
            .of(value)
            .map_or(value, |monitor| address(ptr::from_ref(monitor).cast_mut()))
    }
}

/// Returns the environment of the current thread, if it is attached.
pub fn current_env() -> Option<&'static Env> {
    match Player::current() {
        Some(player) => {
            let known = player.env.get();
            known.or_else(|| Some(player.event_env()).filter(|env| env.recorded != 0)).or_else(
                || {
                    // JVM_OnLoad: its thread has no event yet.
                    Some(ATTACHED.get().unwrap_or_else(|| attach(player.replay)))
                },
            )
        }
        None => ATTACHED.get(),
    }
}

/// Attaches a thread of the agent's own making.
pub fn attach(replay: &'static Replay) -> &'static Env {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    // No recorded one has such an address.
    let env = replay.envs.of(u64::MAX - NEXT.fetch_add(1, Ordering::Relaxed));
    ATTACHED.set(Some(env));
    env
}

/// Detaches it.
pub fn detach() {
    ATTACHED.set(None);
}

/// The thread waits in a raw monitor, and others continue, until this is dropped.
pub struct Blocked {
    stuck: bool,
}

impl Blocked {
    /// `stuck` if there is no limit to it.
    pub fn begin(stuck: bool) -> Self {
        if let Some(player) = Player::current() {
            player.replay.order.block(player.number, player.key.get(), stuck);
        }
        Self { stuck }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        if let Some(player) = Player::current() {
            player.replay.order.unblock(player.number, self.stuck);
            if player.scope.get() != Scope::Own {
                player.limit.set(player.replay.order.take_turn(player.number, player.key.get()));
            }
        }
    }
}

//! A thread of the recording: its events go to the agent, and the agent's calls on it are answered.

use super::registry::Env;
use super::state::Replay;
use super::translate::{free_class_file, translate};
use super::turns::Waiter;
use crate::trace::coding::tag;
use crate::trace::fields::Word;
use crate::trace::functions::{Details, Function};
use crate::trace::read::{Call, Event, Key, Record, Records};
use crate::trace::shared::lock;
use jni_sys::jint;
use jvmpi_sys::*;
use std::cell::{Cell, RefCell};
use std::mem::{self, MaybeUninit};
use std::ptr;

/// The number of recorded calls that are kept for the agent to make later.
const MOST_PASSED: usize = 64;
/// The number of calls inside each other that are played, in events that came in calls. A thread's stack has room for
/// more, but not for as many as a damaged recording may have.
const DEEPEST: usize = 64;

thread_local! {
    static CURRENT: Cell<*const Player> = const { Cell::new(ptr::null()) };
}

/// A thread of the recording.
pub struct Player {
    replay: &'static Replay,
    /// Its place in [`Trace::threads`](crate::trace::Trace::threads).
    number: usize,
    records: RefCell<Records<'static>>,
    env: Cell<Option<&'static Env>>,
    /// The place of the last record that was played.
    key: Cell<Key>,
    context: RefCell<Context>,
}

/// The conditions under which records are played.
struct Context {
    scope: Scope,
    /// True if another thread may get the turn before the next record: the agent's code does not run.
    yields: bool,
    /// The number of calls whose records are being played, one inside the other.
    depth: usize,
    /// Calls in this scope that the agent has not made, or not yet.
    passed: Vec<Call>,
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
        replay.turns.begin(number);
        let context = Context { scope: Scope::None, yields: true, depth: 0, passed: Vec::new() };
        Self {
            replay,
            number,
            records: RefCell::new(replay.trace.records(number)),
            env: Cell::new(None),
            key: Cell::new(replay.trace.threads()[number].first()),
            context: RefCell::new(context),
        }
    }

    /// Returns the player of the current thread, if the thread is one of the recording.
    #[inline]
    pub fn current<'a>() -> Option<&'a Self> {
        // SAFETY: the pointer is cleared before the player, which is below on the stack, is dropped.
        unsafe { CURRENT.get().as_ref() }
    }

    /// Plays records under other conditions, with no calls passed.
    #[inline]
    fn within<R>(&self, change: impl FnOnce(&mut Context), body: impl FnOnce() -> R) -> R {
        let Context { scope, yields, depth, .. } = *self.context.borrow();
        let mut context = Context { scope, yields, depth, passed: Vec::new() };
        change(&mut context);
        let outer = self.context.replace(context);
        let result = body();
        self.context.replace(outer);
        result
    }

    /// Runs code of the agent's in this scope. Other threads have to wait.
    #[inline]
    fn run_in<R>(&self, scope: Scope, body: impl FnOnce() -> R) -> R {
        self.within(|context| (context.scope, context.yields) = (scope, false), body)
    }

    /// Has the agent's JVM_OnLoad run on this thread.
    pub fn load(&self, load: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        CURRENT.set(self);
        self.run_in(Scope::Load, load)
    }

    /// Plays all records.
    pub fn play(&self) {
        CURRENT.set(self);
        while let Some(key) = self.next_key() {
            self.take_turn(key);
            let mut hits = 0_u64;
            while self.replay.turns.is_running(self.number)
                && let Some((is_exit, method)) = self.next_hit()
            {
                self.method(is_exit, method);
                hits += 1;
            }
            if hits == 0
                && let Some(record) = self.next()
            {
                self.record(record);
            }
        }
        self.records.borrow().problem().into_iter().for_each(|problem| self.replay.note(problem));
        CURRENT.set(ptr::null());
        self.replay.turns.end(self.number);
    }

    /// Plays a record outside of calls.
    fn record(&self, record: Record) {
        match record {
            Record::Method { is_exit, method } => self.method(is_exit, method),
            Record::Event(event) => self.event(event, false),
            Record::Begin(..) => drop(self.inside_call(false)),
            Record::Run => self.run(),
            // Calls that JVM_OnLoad has not made.
            Record::Call(_) | Record::End => {}
        }
    }

    fn next_key(&self) -> Option<Key> {
        self.records.borrow_mut().key()
    }

    fn next(&self) -> Option<Record> {
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
    fn take_turn(&self, key: Key) {
        self.key.set(key);
        let turns = &self.replay.turns;
        if !turns.is_running(self.number) || self.context.borrow().yields && !turns.is_next(key) {
            turns.take(self.number, key);
        }
    }

    /// Returns the current thread as one that waits.
    pub fn waiter(&self) -> Waiter {
        Waiter { thread: self.number, key: self.key.get() }
    }

    /// Returns the environment of the current thread. In JVM_OnLoad, before the thread's first event, it is one that no
    /// event has.
    pub fn current_env(&self) -> &'static Env {
        self.env.get().unwrap_or_else(|| self.event_env())
    }

    /// Returns the environment of the next event.
    #[inline]
    fn event_env(&self) -> &'static Env {
        let recorded = self.records.borrow().env();
        match self.env.get() {
            Some(env) if env.recorded == recorded => env,
            _ => {
                let env = self.replay.envs.env(recorded);
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
            let method_id = ptr::with_exposed_provenance_mut(method as usize);
            let method = JVMPI_Event_method { method_id };
            self.notify(event_type, Scope::Handler, &mut |u| u.method = method);
        }
        self.end_scope();
    }

    /// Calls the agent's handler with the union member that `fill` fills; returns what it has left of it.
    #[inline]
    fn notify(
        &self,
        event_type: jint,
        scope: Scope,
        fill: &mut dyn FnMut(&mut JVMPI_Event_u),
    ) -> JVMPI_Event_u {
        self.replay.count(event_type & !JVMPI_REQUESTED_EVENT);
        let mut event = MaybeUninit::<JVMPI_Event>::uninit();
        let pointer = event.as_mut_ptr();
        // SAFETY: the event is ours to write, `fill` fills the union member of its type, and the agent has written the
        // function into its table to be called like this.
        unsafe {
            (*pointer).event_type = event_type;
            (*pointer).env_id = self.event_env().pointer();
            fill(&mut (*pointer).u);
            if let Some(notify_event) = self.replay.handler() {
                self.run_in(scope, || notify_event(pointer));
            }
            (*pointer).u
        }
    }

    /// Sends another event, if the agent has enabled or requested it.
    fn event(&self, mut event: Box<Event>, is_requested: bool) {
        let known = event.event_type & !JVMPI_REQUESTED_EVENT;
        let is_due =
            if event.event_type == known { self.replay.wants(known) } else { is_requested };
        let env = self.event_env();
        let new_thread = self.new_thread(&event);
        if is_due {
            translate(self.replay, &mut event);
            new_thread.into_iter().for_each(|env| env.set_storage(ptr::null_mut()));
            let u = self.notify(event.event_type, Scope::Handler, &mut |u| *u = event.u);
            if known == JVMPI_EVENT_CLASS_LOAD_HOOK {
                free_class_file(&event, &u);
            }
        }
        self.end_scope();
        match known {
            JVMPI_EVENT_CLASS_LOAD => self.replay.known().learn_class(event),
            JVMPI_EVENT_CLASS_UNLOAD => {
                // SAFETY: an event of this type has this union member.
                let class = unsafe { event.u.class_unload.class_id.word() };
                self.replay.known().forget_class(class);
            }
            JVMPI_EVENT_THREAD_END => {
                env.set_storage(ptr::null_mut());
                self.replay.known().thread_objects.remove(&env.recorded);
            }
            _ => {}
        }
    }

    /// Learns the thread that starts. Returns its environment if an earlier thread without a recorded THREAD_END had
    /// the same one. The values that a thread stored before its THREAD_START are kept.
    fn new_thread(&self, event: &Event) -> Option<&'static Env> {
        if event.event_type & !JVMPI_REQUESTED_EVENT != JVMPI_EVENT_THREAD_START {
            return None;
        }
        // SAFETY: an event of this type has this union member.
        let started = unsafe { event.u.thread_start };
        let (env, object) = (started.thread_env_id.word(), started.thread_id.word());
        let earlier = self.replay.known().thread_objects.insert(env, object);
        let is_another = earlier.is_some_and(|earlier| earlier != object);
        let is_another = is_another && event.event_type == JVMPI_EVENT_THREAD_START;
        is_another.then(|| self.replay.envs.env(env))
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
                tag if is_call(tag) => drop(self.next()),
                _ => break,
            }
        }
    }

    /// Plays the records inside a call, and returns the call. Requested events go to the agent if it has made the same
    /// call.
    fn inside_call(&self, is_made: bool) -> Option<Call> {
        // Calls in there are none of those that the agent makes outside.
        self.within(|context| context.depth += 1, || self.inside_this_call(is_made))
    }

    fn inside_this_call(&self, is_made: bool) -> Option<Call> {
        let is_played = self.context.borrow().depth <= DEEPEST;
        if !is_played {
            self.replay.note("calls inside each other, too deep to be played");
        }
        // The number of calls that have begun inside this one.
        let mut inner = 0_usize;
        loop {
            self.take_turn(self.next_key()?);
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

    /// Returns the recorded call that the agent makes now: the next one of the function that matches. Events that came
    /// in it are sent. None if it was not recorded.
    pub fn recorded(&self, function: Function, matches: &dyn Fn(&Call) -> bool) -> Option<Call> {
        let is_it = |call: &Call| call.function == function && matches(call);
        let passed = self.context.borrow().passed.iter().position(is_it);
        if let Some(passed) = passed {
            return Some(self.context.borrow_mut().passed.remove(passed));
        }
        while self.is_in_scope(self.peek()?, function) {
            self.take_turn(self.next_key()?);
            let call = match self.next()? {
                Record::Call(call) => *call,
                Record::Begin(function, arguments) => {
                    let (details, memory) = (Details::NONE, Default::default());
                    let begun = Call { function, arguments, result: 0, details, memory };
                    let is_made = is_it(&begun);
                    let call = self.inside_call(is_made)?;
                    if is_made {
                        return Some(call);
                    }
                    call
                }
                other => {
                    self.record(other);
                    continue;
                }
            };
            if is_it(&call) {
                return Some(call);
            }
            self.pass(call);
        }
        if self.context.borrow().scope == Scope::Own && self.peek().is_none() {
            // It may ask until another thread has done something. Before, others would go past its next records.
            self.replay.turns.release(self.number);
        }
        None
    }

    /// Returns true if the agent's call of this function may be the next record, which has this tag, or one behind.
    fn is_in_scope(&self, tag: u8, function: Function) -> bool {
        // The agent's own function need not repeat the order of its calls within one round.
        let wait = Function::RawMonitorWait;
        let is_wait = tag == tag::CALL + wait as u8
            || tag == tag::BEGIN && self.records.borrow().next_begins(wait);
        match self.context.borrow().scope {
            Scope::None => false,
            Scope::Own => !matches!(tag, tag::END | tag::RUN) && (!is_wait || function == wait),
            Scope::Load | Scope::Handler => is_call(tag) || tag == tag::BEGIN,
        }
    }

    /// Keeps a call that was recorded, and that the agent may make later.
    fn pass(&self, call: Call) {
        let is_answered = match call.function {
            // The events of a request have passed, and the storage is the replay's own.
            Function::RequestEvent | Function::GetThreadLocalStorage => false,
            Function::GetCallTrace | Function::SuspendThreadList | Function::ResumeThreadList => {
                true
            }
            other => other.signature().1,
        };
        let mut context = self.context.borrow_mut();
        if is_answered && context.passed.len() < MOST_PASSED {
            context.passed.push(call);
        }
    }

    /// Sends CLASS_LOAD of a class that the agent requests and the recorded one did not, if the class was announced
    /// before. Calls of the handler are not in the recording then.
    pub fn tell_class(&self, class: u64) -> bool {
        let last = self.replay.known().last_event(class);
        let requested = JVMPI_EVENT_CLASS_LOAD | JVMPI_REQUESTED_EVENT;
        if let Some(last) = &last {
            self.notify(requested, Scope::None, &mut |u| *u = last.u);
        }
        last.is_some()
    }

    /// Waits until the recorded thread returned from its next RawMonitorWait. Records before that which the agent has
    /// not repeated are skipped. Returns false if there is no such call.
    pub fn recorded_wait(&self) -> bool {
        let yields = mem::replace(&mut self.context.borrow_mut().yields, true);
        let wait = self.recorded(Function::RawMonitorWait, &|_| true);
        let context = &mut *self.context.borrow_mut();
        context.yields = yields;
        if context.scope == Scope::Own {
            // Answers of this round are none of the next one.
            context.passed.clear();
        }
        wait.is_some()
    }

    /// The agent's function for this thread begins, if the agent has created the thread.
    fn run(&self) {
        let thread = &self.replay.trace.threads()[self.number];
        let number = thread.function.and_then(|number| number.checked_sub(1));
        let functions = lock(&self.replay.functions);
        let function = number.and_then(|number| functions.get(usize::from(number)).copied());
        drop(functions);
        match function {
            Some(function) => {
                self.replay.turns.run_own(true);
                // SAFETY: the agent has passed the function to be called like this.
                self.run_in(Scope::Own, || unsafe { function(ptr::null_mut()) });
                self.replay.turns.run_own(false);
            }
            None => self.replay.note("thread of the recorded agent that this one has not created"),
        }
        self.end_scope();
    }
}

/// Returns true if the tag belongs to a call.
fn is_call(tag: u8) -> bool {
    (tag::CALL..tag::HIT).contains(&tag)
}

//! The fast path of an event from rewritten code to the only agent that wants it.
//!
//! Such events occur hundreds of millions of times. The checks that a [`Delivery`](super::Delivery) makes for each event
//! are made once per epoch ([`epoch`](phase::epoch)) for each thread, and once for each method until an agent enables
//! CLASS_LOAD.

use super::{call, is_reported};
use crate::classes::method_numbers::{self, NumberedMethod};
use crate::gc::gate;
use crate::records::agents::{self, Agent, Handler, OnlyListener};
use crate::records::announced_methods;
use crate::records::calls::Step;
use crate::records::phase::{self, Phase};
use crate::threads::{self, Thread};
use jni_sys::{jint, jmethodID};
use jvm::Jni;
use jvmpi_sys::{EventBody, JVMPI_EVENT_CLASS_LOAD, JVMPI_EVENT_THREAD_START};

/// Events that the current thread may send to an agent without further checks.
pub struct ShortCut<'a> {
    thread: &'a Thread,
    event: OnlyListener,
    /// The epoch in which the events are sent.
    pub epoch: u64,
}

/// Takes this step of the thread's open calls and calls `send`, if the current thread's events can take the fast path.
/// Returns None if they cannot, or if `send` has sent nothing; then the step is undone.
#[inline(always)]
pub fn with<R>(
    event: OnlyListener,
    step: Step,
    send: impl FnOnce(ShortCut<'_>) -> Option<R>,
) -> Option<R> {
    // If the record belongs to an ended environment, it is marked as ended, and no epoch since then has allowed it the
    // fast path.
    let thread = threads::known_current()?;
    let (passage, epoch) = gate::enter_in_epoch(&thread, step)?;
    let sent = send(ShortCut { thread: &thread, event, epoch })?;
    passage.end();
    Some(sent)
}

impl ShortCut<'_> {
    pub fn agent(&self) -> Option<&'static Agent> {
        self.thread.short_cut.agent()
    }

    /// Returns the handler of the only agent that gets the event.
    pub fn handler(&self) -> Option<Handler> {
        self.thread.short_cut.handler(self.event)
    }

    pub fn thread(&self) -> &Thread {
        self.thread
    }

    /// Returns the method with this number, if its events can take the fast path.
    #[inline]
    pub fn method(&self, number: jint) -> Option<jmethodID> {
        announced_methods::get(number as u32 as usize)
    }

    #[inline]
    pub fn send<A: EventBody>(&self, handler: Handler, event_type: jint, body: A) {
        call(handler, self.thread.env(), event_type, body);
    }
}

/// Returns true if events of rewritten code may be sent on the thread now.
pub fn is_reportable(thread: &Thread) -> bool {
    is_reported(thread) && !thread.transition.is_under_way()
}

/// Reports the method with this number on the slow path, and determines whether the next events of the thread and of
/// the method may take the fast path.
pub fn prepare(jni: Jni, thread: &Thread, number: usize, report: impl FnOnce(NumberedMethod<'_>)) {
    let epoch = phase::epoch();
    method_numbers::with(jni, number, |method| {
        report(method);
        let is_announced = |agent: &Agent| method.class.announced.to(agent);
        announced_methods::add(number, method.id, || {
            agents::wanting(JVMPI_EVENT_CLASS_LOAD).all(is_announced)
        });
    });
    let can_be_relied_on =
        gate::has_epochs() && phase::is_open(epoch) && phase::now() == Phase::Live;
    if !can_be_relied_on {
        return;
    }
    let is_announced = |agent: &Agent| thread.announced.to(agent);
    let is_ending = agents::all().iter().any(|agent| thread.announced.is_withdrawn(agent));
    let can_be_relied_on = is_reportable(thread) && !thread.held.any() && !is_ending;
    if can_be_relied_on && agents::wanting(JVMPI_EVENT_THREAD_START).all(is_announced) {
        thread.short_cut.allow(epoch, &thread.in_flight.calls);
    }
}

//! The open calls of a thread: calls for which an agent has got the entry, but not the exit.

#[cfg(doc)]
use super::agents;
use super::agents::{Agent, MAX_AGENTS};
use jni_sys::{_jmethodID, jmethodID, jobject};
use jvm::lock::Lock;
use jvm::{Jni, WeakRef};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// For each agent, the open calls of one thread. Only the thread itself changes them.
pub struct OpenCalls {
    of_agents: [CallsOfAgent; MAX_AGENTS],
    /// The number of [`agents::class_loads_enabled`] when the classes of all calls that have a method were announced.
    class_loads_enabled: AtomicU32,
    /// The last `StackOverflowError` that was caught.
    overflow: Lock<Option<WeakRef>>,
}

/// Aligned, so that the size is a power of two and indexing takes a shift.
#[repr(align(64))]
pub struct CallsOfAgent {
    stack: Stack,
    /// The number of other open calls, in unknown order.
    aside: AtomicU32,
}

/// The calls of an agent that does not get the exits of all entries: there is no room for any.
pub static NONE: CallsOfAgent = CallsOfAgent::new();

impl Default for OpenCalls {
    fn default() -> Self {
        Self {
            of_agents: [const { CallsOfAgent::new() }; MAX_AGENTS],
            class_loads_enabled: AtomicU32::new(0),
            overflow: Lock::default(),
        }
    }
}

impl OpenCalls {
    /// Records that the agent gets an entry.
    pub fn enter(&self, agent: &Agent, number: u32, method: jmethodID) {
        let calls = self.of(agent);
        if !(calls.enter(number, method) || calls.stack.grow() && calls.enter(number, method)) {
            calls.set_aside();
        }
    }

    /// Lets the classes of the open calls be announced again if an agent has enabled CLASS_LOAD since the last time.
    /// `enabled` is the number of [`agents::class_loads_enabled`].
    pub fn check_classes_since(&self, enabled: u32) {
        if self.class_loads_enabled.swap(enabled, Ordering::Relaxed) != enabled {
            self.of_agents.iter().for_each(|of_agent| of_agent.stack.forget_methods());
        }
    }

    /// Returns true if an exit belongs to an entry that the agent has got. Calls inside it have ended without a
    /// report: they are passed to `lost`, innermost first. Each method is looked up before its number is removed,
    /// because another method may get a number that no thread has.
    pub fn exit<M>(
        &self,
        agent: &Agent,
        number: u32,
        method: impl Fn(u32) -> M,
        mut lost: impl FnMut(M),
    ) -> bool {
        let CallsOfAgent { stack, aside } = self.of(agent);
        let others = aside.load(Ordering::Relaxed);
        if others == 0 && !stack.has(number) {
            return false;
        }
        // `lost` may call the agent, which may call Java methods, so the stack is read again each time.
        while let Some(innermost) = stack.last() {
            let left = method(innermost);
            stack.pop();
            if innermost == number {
                return true;
            }
            lost(left);
        }
        aside.store(others.saturating_sub(1), Ordering::Relaxed);
        others > 0
    }

    /// Closes the calls inside the call of this method that has caught an exception. The exception has ended all of
    /// them; they are passed to `lost` as by [`Self::exit`]. If the innermost call of the method may have ended too,
    /// `frames` returns the frames that the method has on the stack, outermost first: the innermost of these has caught
    /// the exception. A frame is true if it is that of a constructor whose call of `super()` or `this()` has returned,
    /// because its exit will be reported. `frames` is called only if several calls of the method are open.
    pub fn go_on<M>(
        &self,
        agent: &Agent,
        number: u32,
        frames: Option<impl FnOnce() -> Vec<bool>>,
        method: impl Fn(u32) -> M,
        mut lost: impl FnMut(M),
    ) {
        let CallsOfAgent { stack, aside } = self.of(agent);
        let mut inside = match (stack.last_of(number), frames) {
            (None, _) if aside.load(Ordering::Relaxed) == 0 => return,
            // The call is one of those in unknown order.
            (None, _) => usize::MAX,
            (Some((_, false)), Some(frames)) if stack.count_of(number) > 1 => {
                stack.count_inside(number, &frames())
            }
            (Some((inside, _)), _) => inside,
        };
        while inside > 0
            && let Some(innermost) = stack.last()
        {
            let call = method(innermost);
            stack.pop();
            lost(call);
            inside -= 1;
        }
    }

    /// Returns true if this `StackOverflowError` is not the last one that the thread has caught. While the same error
    /// ends one method after the other, no further exit report is lost: an error in a report would have replaced it.
    /// After a new error the exit of any constructor may be lost.
    pub fn is_new_overflow(&self, jni: Jni, error: jobject) -> bool {
        let before = self.overflow.lock().take();
        let is_same = |before: &WeakRef| jni.same_object(before.get_alive(), error);
        let known = before.filter(is_same);
        let is_new = known.is_none();
        if is_new {
            self.of_agents.iter().for_each(|of_agent| of_agent.stack.forget_constructed());
        }
        *self.overflow.lock() = known.or_else(|| Some(WeakRef::new(jni, error)));
        is_new
    }

    /// Only counts the calls that are open now. A virtual thread has been mounted or unmounted, so exits that come now
    /// need not belong to the entries before.
    pub fn set_aside(&self) {
        self.of_agents.iter().for_each(CallsOfAgent::set_aside);
    }

    /// Returns the numbers of all calls. Called by another thread, it returns those that stay open meanwhile and some
    /// of the others.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.of_agents.iter().flat_map(|of_agent| of_agent.stack.numbers())
    }

    /// Returns the open calls of this agent.
    pub fn of(&self, agent: &Agent) -> &CallsOfAgent {
        &self.of_agents[agent.index % MAX_AGENTS]
    }
}

impl CallsOfAgent {
    const fn new() -> Self {
        Self { stack: Stack::new(), aside: AtomicU32::new(0) }
    }

    /// Records that the agent gets an entry. Returns false if there is no room; [`OpenCalls::enter`] makes some.
    #[inline]
    pub fn enter(&self, number: u32, method: jmethodID) -> bool {
        self.stack.push(number, method)
    }

    /// Records that the agent gets an exit, if it belongs to the innermost call and the method's class is announced.
    /// Returns the method. Otherwise changes nothing; [`OpenCalls::exit`] must decide.
    #[inline]
    pub fn exit_innermost(&self, number: u32) -> Option<jmethodID> {
        self.stack.pop_announced(number)
    }

    /// Returns true if the innermost call is a call of this method.
    pub fn is_innermost(&self, number: u32) -> bool {
        self.stack.last() == Some(number)
    }

    fn set_aside(&self) {
        let count = self.stack.clear();
        if count > 0 {
            let aside = self.aside.load(Ordering::Relaxed);
            self.aside.store(aside.saturating_add(count), Ordering::Relaxed);
        }
    }
}

/// The open calls in known order. Only their thread pushes and pops.
struct Stack {
    /// The call that was pushed last. Below the first one is a call with the number [`BOTTOM`].
    top: AtomicPtr<Call>,
    /// The last place of the array.
    end: AtomicPtr<Call>,
    /// The array. It is replaced while this is locked, so that other threads can read it.
    calls: Lock<Vec<Call>>,
}

struct Call {
    /// The number that rewritten code passes for the method. [`CONSTRUCTED`] is added for a constructor whose call of
    /// `super()` or `this()` is known to have returned.
    number: AtomicU32,
    /// The method, NULL if its class may have to be announced at the exit.
    method: AtomicPtr<_jmethodID>,
}

/// The bit of a constructor in [`Call::number`].
const CONSTRUCTED: u32 = 1 << 31;

/// No number.
const BOTTOM: u32 = CONSTRUCTED - 1;

/// The array of a stack on which nothing was pushed yet.
static EMPTY: Call = Call::unused();

/// The length of the first array.
const FIRST_ROOM: usize = 256;

/// The limit. The stack of a thread has at most a gigabyte, which hardly has room for so many calls.
const MOST: usize = 1 << 24;

impl Call {
    const fn unused() -> Self {
        Self { number: AtomicU32::new(BOTTOM), method: AtomicPtr::new(ptr::null_mut()) }
    }

    fn number(&self) -> u32 {
        self.number.load(Ordering::Relaxed) & !CONSTRUCTED
    }

    fn has(&self, number: u32) -> bool {
        self.number() == number
    }

    fn is_constructed(&self) -> bool {
        self.number.load(Ordering::Relaxed) & CONSTRUCTED != 0
    }

    fn set_constructed(&self, is_constructed: bool) {
        let bit = if is_constructed { CONSTRUCTED } else { 0 };
        self.number.store(self.number() | bit, Ordering::Relaxed);
    }
}

impl Stack {
    const fn new() -> Self {
        let empty = ptr::from_ref(&EMPTY).cast_mut();
        Self {
            top: AtomicPtr::new(empty),
            end: AtomicPtr::new(empty),
            calls: Lock::new(Vec::new()),
        }
    }

    /// Adds a call. Returns false if the array is full.
    #[inline]
    fn push(&self, number: u32, method: jmethodID) -> bool {
        let top = self.top.load(Ordering::Relaxed);
        let has_room = top != self.end.load(Ordering::Relaxed);
        if has_room {
            let above = top.wrapping_add(1);
            // SAFETY: `top` is not the last place of the array, which only this thread replaces.
            let call = unsafe { &*above };
            call.number.store(number, Ordering::Relaxed);
            call.method.store(method, Ordering::Relaxed);
            self.top.store(above, Ordering::Release);
        }
        has_room
    }

    #[inline]
    fn top(&self) -> &Call {
        // SAFETY: `top` points into the array, which only this thread replaces, or to `EMPTY`.
        unsafe { &*self.top.load(Ordering::Relaxed) }
    }

    /// Returns the number of the call that was pushed last.
    #[inline]
    fn last(&self) -> Option<u32> {
        Some(self.top().number()).filter(|number| *number != BOTTOM)
    }

    /// Removes the last call, if its number is this one and its class is announced. Returns its method.
    #[inline]
    fn pop_announced(&self, number: u32) -> Option<jmethodID> {
        let call = self.top();
        // With the bit it takes the long way.
        if call.number.load(Ordering::Relaxed) != number {
            return None;
        }
        let method = call.method.load(Ordering::Relaxed);
        if method.is_null() {
            return None;
        }
        self.pop();
        Some(method)
    }

    /// Removes the last call. There must be one.
    #[inline]
    fn pop(&self) {
        let below = self.top.load(Ordering::Relaxed).wrapping_sub(1);
        // Release: a number is looked up before another thread sees that it is removed.
        self.top.store(below, Ordering::Release);
    }

    /// Runs `f` with the calls, outermost first. Another thread may do so too.
    fn with_all<R>(&self, f: impl FnOnce(&[Call]) -> R) -> R {
        let calls = self.calls.lock();
        let top = self.top.load(Ordering::Acquire);
        // The array is empty as long as `top` points to `EMPTY`.
        let count = top.addr().saturating_sub(calls.as_ptr().addr()) / size_of::<Call>();
        f(calls.get(1..=count).unwrap_or_default())
    }

    /// Returns the numbers of all calls, outermost first. Called by another thread, it returns those that stay open
    /// meanwhile and some of the others.
    fn numbers(&self) -> Vec<u32> {
        self.with_all(|calls| calls.iter().map(Call::number).collect())
    }

    /// Returns true if a call with this number is open.
    fn has(&self, number: u32) -> bool {
        self.last_of(number).is_some()
    }

    /// Returns how many open calls have this number.
    fn count_of(&self, number: u32) -> usize {
        self.with_all(|calls| calls.iter().filter(|call| call.has(number)).count())
    }

    /// Returns how many calls are open inside the last call with this number, and whether it is [`CONSTRUCTED`]. Takes
    /// time in proportion to the calls inside.
    fn last_of(&self, number: u32) -> Option<(usize, bool)> {
        self.with_all(|calls| {
            let (inside, call) =
                calls.iter().rev().enumerate().find(|(_, call)| call.has(number))?;
            Some((inside, call.is_constructed()))
        })
    }

    /// Returns how many calls are open inside the call with this number that belongs to the last of these frames, or
    /// inside the last call if there is no frame. Marks the calls that are [`CONSTRUCTED`], unless some of the frames have
    /// no call.
    fn count_inside(&self, number: u32, frames: &[bool]) -> usize {
        self.with_all(|calls| {
            let all = || calls.iter().enumerate().filter(|(_, call)| call.has(number));
            if all().count() >= frames.len() {
                for ((_, call), is_constructed) in all().zip(frames) {
                    call.set_constructed(*is_constructed);
                }
            }
            let frames = if frames.is_empty() { usize::MAX } else { frames.len() };
            all().take(frames).last().map_or(0, |(at, _)| calls.len() - at - 1)
        })
    }

    fn forget_constructed(&self) {
        self.with_all(|calls| {
            calls.iter().for_each(|call| call.set_constructed(false));
        });
    }

    fn forget_methods(&self) {
        self.with_all(|calls| {
            calls.iter().for_each(|call| call.method.store(ptr::null_mut(), Ordering::Relaxed));
        });
    }

    /// Removes all calls. Returns how many there were.
    fn clear(&self) -> u32 {
        let mut count = 0;
        while self.last().is_some() {
            self.pop();
            count += 1;
        }
        count
    }

    /// Doubles the array. Returns false if it is as long as it may be.
    fn grow(&self) -> bool {
        let mut calls = self.calls.lock();
        let count = calls.len().saturating_sub(1);
        let room = (2 * count).max(FIRST_ROOM);
        if room > MOST {
            return false;
        }
        let mut longer = Vec::with_capacity(room + 1);
        longer.extend(std::mem::take(&mut *calls));
        longer.resize_with(room + 1, Call::unused);
        *calls = longer;
        let place = |at| calls.as_ptr().wrapping_add(at).cast_mut();
        self.end.store(place(room), Ordering::Relaxed);
        self.top.store(place(count), Ordering::Release);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::agents;

    fn method(number: u32) -> jmethodID {
        ptr::without_provenance_mut(number as usize + 1)
    }

    fn entered(numbers: impl IntoIterator<Item = u32>) -> OpenCalls {
        let calls = OpenCalls::default();
        numbers.into_iter().for_each(|number| calls.enter(agents::get(0), number, method(number)));
        calls
    }

    /// Returns the exits that an agent gets for these reported exits.
    fn exits(calls: &OpenCalls, reported: &[u32]) -> Vec<u32> {
        let agent = agents::get(0);
        let mut exits = Vec::new();
        for &number in reported {
            if calls.of(agent).exit_innermost(number).is_some()
                || calls.exit(agent, number, |method| method, |lost| exits.push(lost))
            {
                exits.push(number);
            }
        }
        exits
    }

    #[test]
    fn exits_without_an_entry_are_not_sent() {
        assert_eq!(exits(&entered([]), &[1]), []);
        assert_eq!(exits(&entered([1]), &[2, 1, 1]), [1]);
    }

    #[test]
    fn calls_that_are_left_regularly_are_sent_once() {
        assert_eq!(exits(&entered([1, 7, 3, 7]), &[7, 3, 7, 1, 1]), [7, 3, 7, 1]);
    }

    #[test]
    fn calls_that_are_left_unseen_are_sent_with_the_next_exit() {
        // The last two are an argument of super(), and the method that it calls.
        let calls = entered([1, 7, 8, 2, 9]);
        assert_eq!(exits(&calls, &[9, 2, 1]), [9, 2, 8, 7, 1]);
        assert_eq!(exits(&calls, &[1]), []);
        assert_eq!(exits(&entered([1, 5, 5, 5]), &[5, 5, 1]), [5, 5, 5, 1]);
    }

    /// Returns the exits that an agent gets when a call of method 7 catches an exception, and the calls open then.
    fn caught(calls: &OpenCalls, frames: Option<usize>) -> (Vec<u32>, Vec<u32>) {
        caught_by(calls, frames.map(|frames| vec![false; frames]))
    }

    fn caught_by(calls: &OpenCalls, frames: Option<Vec<bool>>) -> (Vec<u32>, Vec<u32>) {
        let mut exits = Vec::new();
        let frames = frames.map(|frames| || frames);
        calls.go_on(agents::get(0), 7, frames, |method| method, |lost| exits.push(lost));
        (exits, calls.numbers().collect())
    }

    #[test]
    fn calls_that_an_exception_has_left_are_sent_when_it_is_caught() {
        assert_eq!(caught(&entered([1, 7, 8, 9]), None), (vec![9, 8], vec![1, 7]));
        assert_eq!(caught(&entered([1, 7]), None), (vec![], vec![1, 7]));
        // The entry of 7 was not sent.
        assert_eq!(caught(&entered([1, 8]), None), (vec![], vec![1, 8]));
        let calls = entered([7]);
        calls.set_aside();
        calls.enter(agents::get(0), 8, method(8));
        assert_eq!(caught(&calls, None), (vec![8], vec![]));
    }

    #[test]
    fn innermost_call_with_a_frame_stays_open() {
        let open = [7, 1, 7, 8, 7, 9];
        assert_eq!(caught(&entered(open), None), (vec![9], vec![7, 1, 7, 8, 7]));
        assert_eq!(caught(&entered(open), Some(2)), (vec![9, 7, 8], vec![7, 1, 7]));
        assert_eq!(caught(&entered(open), Some(1)).1, [7]);
        // The entries of some frames may not have been sent.
        assert_eq!(caught(&entered(open), Some(4)).1, [7, 1, 7, 8, 7]);
        assert_eq!(caught(&entered([1, 7, 9]), Some(0)).1, [1, 7]);
    }

    #[test]
    fn frames_are_counted_once_for_constructors_that_report_their_exit() {
        let calls = entered([7, 7, 7, 7, 9]);
        assert_eq!(caught_by(&calls, Some(vec![true, false, true])).1, [7, 7, 7]);
        // The innermost reports its exit, so no frame is missing.
        calls.enter(agents::get(0), 9, method(9));
        assert_eq!(caught_by(&calls, Some(vec![true])).1, [7, 7, 7]);
        // The next one is in its call of another constructor.
        assert_eq!(exits(&calls, &[7]), [7]);
        assert_eq!(caught_by(&calls, Some(vec![true])).1, [7]);
        // This is another call than the one with a frame before.
        calls.enter(agents::get(0), 7, method(7));
        assert_eq!(caught_by(&calls, Some(vec![true])).1, [7]);
    }

    #[test]
    fn calls_that_were_left_unseen_keep_their_numbers() {
        let calls = entered([1, 7, 8]);
        assert_eq!(calls.of(agents::get(0)).exit_innermost(8), Some(method(8)));
        assert_eq!(calls.numbers().collect::<Vec<_>>(), [1, 7]);
        assert_eq!(exits(&calls, &[1]), [7, 1]);
        assert_eq!(calls.numbers().count(), 0);
    }

    #[test]
    fn classes_are_checked_again_when_class_load_is_enabled() {
        let calls = entered([1, 7]);
        let agent = agents::get(0);
        calls.check_classes_since(1);
        assert_eq!(calls.of(agent).exit_innermost(7), None);
        assert_eq!(exits(&calls, &[7]), [7]);
        calls.enter(agent, 8, method(8));
        calls.check_classes_since(1);
        assert_eq!(calls.of(agent).exit_innermost(8), Some(method(8)));
        assert_eq!(calls.of(agent).exit_innermost(1), None);
    }

    #[test]
    fn virtual_threads_leave_what_they_have_entered_elsewhere() {
        let calls = entered([1, 2]);
        calls.set_aside();
        calls.enter(agents::get(0), 3, method(3));
        calls.enter(agents::get(0), 4, method(4));
        // The exit of 4 is not reported. The number of the other open calls is known, but not their methods.
        assert_eq!(exits(&calls, &[3, 8, 9, 1]), [4, 3, 8, 9]);
    }

    #[test]
    fn calls_without_exits_are_not_recorded() {
        assert!(!NONE.enter(1, method(1)));
        assert_eq!(NONE.exit_innermost(1), None);
        assert_eq!(NONE.exit_innermost(BOTTOM), None);
    }

    #[test]
    fn the_stack_is_as_deep_as_it_must_be() {
        let deep = 10 * FIRST_ROOM as u32;
        let inwards: Vec<u32> = (0..deep).collect();
        let outwards: Vec<u32> = (0..deep).rev().collect();
        let calls = entered(inwards.iter().copied());
        assert_eq!(exits(&calls, &outwards), outwards);
        assert_eq!(exits(&calls, &outwards), []);
    }
}

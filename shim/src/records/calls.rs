//! The open calls of a thread: calls for which agents have got the entry, but not the exit.

use super::agents::{AgentSet, MAX_AGENTS};
use super::announced_methods::NUMBERS;
use jni_sys::jobject;
use jvm::lock::Lock;
use jvm::platform::sync::atomic::AtomicPtr;
use jvm::{Jni, WeakRef};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// The open calls of one thread. Only the thread itself changes them.
#[repr(C)]
pub struct OpenCalls {
    /// The call that was pushed last. Below the first one is a call with the bits [`BOTTOM`]. The pointer is [`MARKED`]
    /// while an event that has taken the short cut is in flight: so one store pushes or pops a call and begins its event.
    top: AtomicPtr<Call>,
    /// The last place of the array.
    end: AtomicPtr<Call>,
    /// The bits that an entry on the short cut writes into its call, beside the number.
    agents: AtomicU32,
    /// The bytes by which an entry on the short cut moves the top: 0 if its call is not recorded.
    step: AtomicUsize,
    /// The array. It is replaced while this is locked, so that other threads can read it.
    calls: Lock<Vec<Call>>,
    /// For each agent, the number of other open calls, in unknown order.
    aside: [AtomicU32; MAX_AGENTS],
    /// The last `StackOverflowError` that was caught.
    overflow: Lock<Option<WeakRef>>,
}

/// An open call: the number that rewritten code passes for the method; [`AGENTS`]; and the bit [`CONSTRUCTED`].
pub struct Call(AtomicU32);

/// The first bit of the set of agents that have got the entry and get the exit.
const AGENTS: u32 = NUMBERS.ilog2();

/// The bit of a constructor whose call of `super()` or `this()` is known to have returned.
const CONSTRUCTED: u32 = 1 << 31;

const _: () = assert!(NUMBERS.is_power_of_two() && AGENTS as usize + MAX_AGENTS < 31);

/// No call: it has no agents.
const BOTTOM: u32 = 0;

/// The bits of a call that is not recorded, in place of agents. No call on the stack has them.
const UNRECORDED: u32 = CONSTRUCTED;

/// The mark in a pointer to a call.
const MARKED: usize = 1;

/// The array of a stack on which nothing was pushed yet.
static EMPTY: Call = Call::unused();

/// The length of the first array.
const FIRST_ROOM: usize = 256;

/// The limit. The stack of a thread has at most a gigabyte, which hardly has room for so many calls.
const MOST: usize = 1 << 24;

/// The change that an event on the short cut makes to the open calls.
#[derive(Clone, Copy)]
pub enum Step {
    /// It pushes a call with this number.
    Enter(u32),
    /// It pops the last call, which must have this number.
    Exit(u32),
    Stay,
}

/// An event in flight that has taken the short cut. Unless it is [ended](Self::end), its step is undone.
pub struct Tracked<'a> {
    calls: &'a OpenCalls,
    /// The number of bytes by which the event has moved the top, with the mark.
    moved: usize,
}

impl Tracked<'_> {
    /// Ends the event.
    #[inline(always)]
    pub fn end(self) {
        self.calls.move_back(MARKED);
        std::mem::forget(self);
    }
}

impl Drop for Tracked<'_> {
    #[inline]
    fn drop(&mut self) {
        self.calls.move_back(self.moved);
    }
}

impl Default for OpenCalls {
    fn default() -> Self {
        let empty = || AtomicPtr::new((&raw const EMPTY).cast_mut());
        Self {
            top: empty(),
            end: empty(),
            agents: AtomicU32::new(UNRECORDED),
            step: AtomicUsize::new(0),
            calls: Lock::default(),
            aside: Default::default(),
            overflow: Lock::default(),
        }
    }
}

impl OpenCalls {
    /// Begins an event that takes the short cut. Returns None if another one is in flight, if there is no room for the
    /// call that it enters, or if the call that it exits is not the last one or has other agents; then
    /// [`Self::enter`] or [`Self::exit`] must decide.
    #[inline(always)]
    pub fn begin(&self, step: Step) -> Option<Tracked<'_>> {
        let before = self.top.load(Ordering::Relaxed);
        if before.addr() & MARKED != 0 {
            return None;
        }
        let agents = || self.agents.load(Ordering::Relaxed);
        if let Step::Enter(number) | Step::Exit(number) = step
            && number as usize >= NUMBERS
        {
            return None;
        }
        let step = match step {
            Step::Enter(number) => {
                if before == self.end.load(Ordering::Relaxed) {
                    return None;
                }
                // SAFETY: `before` is not the last place of the array, which only this thread replaces.
                let above = unsafe { &*before.wrapping_add(1) };
                above.0.store(number | agents(), Ordering::Relaxed);
                self.step.load(Ordering::Relaxed)
            }
            Step::Exit(number) => {
                // SAFETY: `before` points into the array, or to `EMPTY`.
                let last = unsafe { &*before };
                if last.bits() != number | agents() {
                    return None;
                }
                0_usize.wrapping_sub(size_of::<Call>())
            }
            Step::Stay => 0,
        };
        let moved = step.wrapping_add(MARKED);
        self.top.store(before.wrapping_byte_add(moved), Ordering::Relaxed);
        Some(Tracked { calls: self, moved })
    }

    /// Moves the top back by this number of bytes. It is read again, because a nested event may have replaced the array.
    #[inline(always)]
    fn move_back(&self, bytes: usize) {
        let top = self.top.load(Ordering::Relaxed);
        self.top.store(top.wrapping_byte_sub(bytes), Ordering::Release);
    }

    /// Returns true while an event that has taken the short cut is in flight.
    #[inline]
    pub fn is_tracked(&self) -> bool {
        self.top.load(Ordering::Acquire).addr() & MARKED != 0
    }

    /// Sets the agents that get the exits of the entries that take the short cut from now on. If there are none, the calls
    /// are not recorded, because nothing would remove them.
    pub fn record_for(&self, agents: AgentSet) {
        let is_recorded = agents != AgentSet::default();
        let bits = if is_recorded { Call::bits_of(0, agents) } else { UNRECORDED };
        self.agents.store(bits, Ordering::Relaxed);
        self.step.store(if is_recorded { size_of::<Call>() } else { 0 }, Ordering::Relaxed);
        if !self.has_room() {
            self.grow();
        }
    }

    /// Records that these agents get an entry, and will get the exit.
    pub fn enter(&self, number: u32, agents: AgentSet) {
        if agents == AgentSet::default() {
            return;
        }
        if self.has_room() || self.grow() {
            self.push(Call::bits_of(number, agents));
        } else {
            self.set_aside();
        }
    }

    /// Returns the agents that get an exit, because they have got the entry. Calls inside it have ended without a
    /// report: they are passed to `lost`, innermost first, with the agents that have got their entries. Each method is
    /// looked up before its number is removed, because another method may get a number that no thread has.
    pub fn exit<M>(
        &self,
        number: u32,
        method: impl Fn(u32) -> M,
        mut lost: impl FnMut(M, AgentSet),
    ) -> AgentSet {
        let others = self.agents_aside();
        if others == AgentSet::default() && self.last_of(number).is_none() {
            return others;
        }
        // `lost` may call agents, which may call Java methods, so the stack is read again each time.
        while let Some((innermost, agents)) = self.last() {
            let left = method(innermost);
            self.pop();
            if innermost == number {
                return agents;
            }
            lost(left, agents);
        }
        for agent in others.iter() {
            self.aside[agent.index].fetch_sub(1, Ordering::Relaxed);
        }
        others
    }

    /// Closes the calls inside the call of this method that has caught an exception. The exception has ended all of
    /// them; they are passed to `lost` as by [`Self::exit`]. If the innermost call of the method may have ended too,
    /// `frames` returns the frames that the method has on the stack, outermost first: the innermost of these has caught
    /// the exception. A frame is true if it is that of a constructor whose call of `super()` or `this()` has returned,
    /// because its exit will be reported. `frames` is called only if several calls of the method are open.
    pub fn go_on<M>(
        &self,
        number: u32,
        frames: Option<impl FnOnce() -> Vec<bool>>,
        method: impl Fn(u32) -> M,
        mut lost: impl FnMut(M, AgentSet),
    ) {
        let mut inside = match (self.last_of(number), frames) {
            (None, _) if self.agents_aside() == AgentSet::default() => return,
            // The call is one of those in unknown order.
            (None, _) => usize::MAX,
            (Some((_, false)), Some(frames)) if self.count_of(number) > 1 => {
                self.count_inside(number, &frames())
            }
            (Some((inside, _)), _) => inside,
        };
        while inside > 0
            && let Some((innermost, agents)) = self.last()
        {
            let call = method(innermost);
            self.pop();
            lost(call, agents);
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
            self.with_all(|calls| calls.iter().for_each(|call| call.set_constructed(false)));
        }
        *self.overflow.lock() = known.or_else(|| Some(WeakRef::new(jni, error)));
        is_new
    }

    /// Only counts the calls that are open now. A virtual thread has been mounted or unmounted, so exits that come now
    /// need not belong to the entries before.
    pub fn set_aside(&self) {
        while let Some((_, agents)) = self.last() {
            self.pop();
            for agent in agents.iter() {
                self.aside[agent.index].fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Returns the numbers of all calls, outermost first. Called by another thread, it returns those that stay open
    /// meanwhile and some of the others.
    pub fn numbers(&self) -> Vec<u32> {
        self.with_all(|calls| calls.iter().map(Call::number).collect())
    }

    /// Returns true if the innermost call is a call of this method.
    pub fn is_innermost(&self, number: u32) -> bool {
        self.last().is_some_and(|(last, _)| last == number)
    }

    /// Returns the agents that have open calls in unknown order.
    fn agents_aside(&self) -> AgentSet {
        let mut agents = AgentSet::of_all();
        agents.retain(|agent| self.aside[agent.index].load(Ordering::Relaxed) > 0);
        agents
    }

    fn has_room(&self) -> bool {
        self.top() != self.end.load(Ordering::Relaxed)
    }

    /// Returns the place of the last call.
    fn top(&self) -> *mut Call {
        self.top.load(Ordering::Acquire).map_addr(|top| top & !MARKED)
    }

    /// Moves the top by this number of calls; it stays [`MARKED`] or not.
    fn move_top(&self, calls: isize) {
        let top = self.top.load(Ordering::Relaxed);
        // Release: another thread that sees the new top sees the call, or that the number of the last one was looked up.
        self.top.store(top.wrapping_offset(calls), Ordering::Release);
    }

    /// Adds a call. There must be room.
    fn push(&self, bits: u32) {
        // SAFETY: `top` is not the last place of the array, which only this thread replaces.
        let above = unsafe { &*self.top().wrapping_add(1) };
        above.0.store(bits, Ordering::Relaxed);
        self.move_top(1);
    }

    /// Returns the number and the agents of the call that was pushed last.
    fn last(&self) -> Option<(u32, AgentSet)> {
        // SAFETY: `top` points into the array, which only this thread replaces, or to `EMPTY`.
        let last = unsafe { &*self.top() };
        (last.bits() != BOTTOM).then(|| (last.number(), last.agents()))
    }

    /// Removes the last call. There must be one.
    fn pop(&self) {
        self.move_top(-1);
    }

    /// Runs `f` with the calls, outermost first. Another thread may do so too.
    fn with_all<R>(&self, f: impl FnOnce(&[Call]) -> R) -> R {
        let calls = self.calls.lock();
        // The array is empty as long as `top` points to `EMPTY`.
        let count = self.top().addr().saturating_sub(calls.as_ptr().addr()) / size_of::<Call>();
        f(calls.get(1..=count).unwrap_or_default())
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
        let mark = self.top.load(Ordering::Relaxed).addr() & MARKED;
        self.end.store(place(room), Ordering::Relaxed);
        self.top.store(place(count).wrapping_byte_add(mark), Ordering::Release);
        true
    }
}

impl Call {
    const fn unused() -> Self {
        Self(AtomicU32::new(BOTTOM))
    }

    fn bits_of(number: u32, agents: AgentSet) -> u32 {
        debug_assert!((number as usize) < NUMBERS, "no method has this number");
        number | u32::from(agents.0) << AGENTS
    }

    #[inline]
    fn bits(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    fn number(&self) -> u32 {
        self.bits() % NUMBERS as u32
    }

    fn agents(&self) -> AgentSet {
        AgentSet((self.bits() >> AGENTS) as u8)
    }

    fn has(&self, number: u32) -> bool {
        self.number() == number
    }

    fn is_constructed(&self) -> bool {
        self.bits() & CONSTRUCTED != 0
    }

    fn set_constructed(&self, is_constructed: bool) {
        let bit = if is_constructed { CONSTRUCTED } else { 0 };
        self.0.store(self.bits() & !CONSTRUCTED | bit, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::agents;

    fn one() -> AgentSet {
        AgentSet::of(agents::get(0))
    }

    fn entered(numbers: impl IntoIterator<Item = u32>) -> OpenCalls {
        let calls = OpenCalls::default();
        numbers.into_iter().for_each(|number| calls.enter(number, one()));
        calls
    }

    /// Returns the exits that an agent gets for these reported exits.
    fn exits(calls: &OpenCalls, reported: &[u32]) -> Vec<u32> {
        calls.record_for(one());
        let mut exits = Vec::new();
        for &number in reported {
            if let Some(way) = calls.begin(Step::Exit(number)) {
                way.end();
                exits.push(number);
            } else if calls.exit(number, |number| number, |lost, _| exits.push(lost)) == one() {
                exits.push(number);
            }
        }
        exits
    }

    /// Returns the exits that an agent gets when a call of method 7 catches an exception, and the calls open then.
    fn caught(calls: &OpenCalls, frames: Option<usize>) -> (Vec<u32>, Vec<u32>) {
        caught_by(calls, frames.map(|frames| vec![false; frames]))
    }

    fn caught_by(calls: &OpenCalls, frames: Option<Vec<bool>>) -> (Vec<u32>, Vec<u32>) {
        let mut exits = Vec::new();
        let frames = frames.map(|frames| || frames);
        calls.go_on(7, frames, |number| number, |lost, _| exits.push(lost));
        (exits, calls.numbers())
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
        calls.enter(9, one());
        assert_eq!(caught_by(&calls, Some(vec![true])).1, [7, 7, 7]);
        // The next one is in its call of another constructor.
        assert_eq!(exits(&calls, &[7]), [7]);
        assert_eq!(caught_by(&calls, Some(vec![true])).1, [7]);
        // This is another call than the one with a frame before.
        calls.enter(7, one());
        assert_eq!(caught_by(&calls, Some(vec![true])).1, [7]);
    }

    #[test]
    fn calls_that_were_left_unseen_keep_their_numbers() {
        let calls = entered([1, 7, 8]);
        assert_eq!(exits(&calls, &[8]), [8]);
        assert_eq!(calls.numbers(), [1, 7]);
        assert_eq!(exits(&calls, &[1]), [7, 1]);
        assert_eq!(calls.numbers(), []);
    }

    #[test]
    fn an_event_that_is_not_ended_leaves_the_calls_as_they_were() {
        let calls = entered([1, 7]);
        calls.record_for(one());
        let ways = [Step::Enter(8), Step::Exit(7), Step::Stay];
        for (step, inside) in ways.into_iter().zip([&[1, 7, 8][..], &[1], &[1, 7]]) {
            let way = calls.begin(step).unwrap();
            assert_eq!(calls.numbers(), inside);
            assert!(calls.is_tracked() && calls.begin(step).is_none());
            drop(way);
            assert_eq!(calls.numbers(), [1, 7]);
            assert!(!calls.is_tracked());
        }
        assert!(calls.begin(Step::Exit(1)).is_none());
    }

    #[test]
    fn a_nested_event_may_replace_the_array() {
        let calls = entered([1]);
        calls.record_for(one());
        let way = calls.begin(Step::Enter(2)).unwrap();
        let nested: Vec<u32> = (3..2 * FIRST_ROOM as u32).collect();
        nested.iter().for_each(|number| calls.enter(*number, one()));
        for number in nested.iter().rev() {
            assert!(calls.begin(Step::Exit(*number)).is_none());
            assert_eq!(calls.exit(*number, |number| number, |_, _| panic!("is lost")), one());
        }
        way.end();
        assert_eq!(exits(&calls, &[2, 1]), [2, 1]);
    }

    #[test]
    fn agents_get_the_exits_of_the_entries_that_they_have_got() {
        let other = AgentSet::of(agents::get(1));
        let mut both = one();
        both.add(agents::get(1));
        let calls = OpenCalls::default();
        for (number, agents) in [(1, one()), (2, both), (3, other), (4, AgentSet::default())] {
            calls.enter(number, agents);
        }
        let mut lost = Vec::new();
        let mut exit = |number| calls.exit(number, |left| left, |left, to| lost.push((left, to)));
        assert_eq!([exit(4), exit(2), exit(1)], [AgentSet::default(), both, one()]);
        assert_eq!(lost, [(3, other)]);
        calls.enter(2, both);
        calls.enter(3, other);
        calls.set_aside();
        assert_eq!(calls.exit(9, |left| left, |_, _| ()), both);
        assert_eq!(calls.exit(9, |left| left, |_, _| ()), other);
        assert_eq!(calls.exit(9, |left| left, |_, _| ()), AgentSet::default());
    }

    #[test]
    fn virtual_threads_leave_what_they_have_entered_elsewhere() {
        let calls = entered([1, 2]);
        calls.set_aside();
        calls.enter(3, one());
        calls.enter(4, one());
        // The exit of 4 is not reported. The number of the other open calls is known, but not their methods.
        assert_eq!(exits(&calls, &[3, 8, 9, 1]), [4, 3, 8, 9]);
    }

    #[test]
    fn calls_without_exits_are_not_recorded() {
        let calls = OpenCalls::default();
        assert!(calls.begin(Step::Enter(0)).is_none(), "there is no room yet");
        calls.record_for(AgentSet::default());
        for number in [0, 1] {
            calls.begin(Step::Enter(number)).unwrap().end();
            assert!(calls.numbers().is_empty() && calls.begin(Step::Exit(number)).is_none());
        }
    }
}

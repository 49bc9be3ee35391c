//! The open calls of a thread: calls for which an agent has got the entry, but not the exit.

use super::agents::{Agent, MAX_AGENTS};
use crate::jvm::{Jni, WeakRef};
use crate::lock::Lock;
use jni_sys::jobject;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// True if all code that reports entries reports exits too.
static EXITS_FOLLOW: AtomicBool = AtomicBool::new(false);

/// Sets whether all code that reports entries reports exits too.
pub fn expect_exits(follow: bool) {
    EXITS_FOLLOW.store(follow, Ordering::Relaxed);
}

/// Returns true if an exit follows each entry that is reported now. Otherwise entries are not recorded, because
/// nothing would remove them: code is still being rewritten.
#[inline]
pub fn exits_follow() -> bool {
    EXITS_FOLLOW.load(Ordering::Relaxed)
}

/// For each agent, the open calls of one thread. Only the thread itself changes them.
#[derive(Default)]
pub struct OpenCalls {
    of_agents: [OfAgent; MAX_AGENTS],
    /// The last `StackOverflowError` that was caught.
    overflow: Lock<Option<WeakRef>>,
}

/// Aligned, so that the size is a power of two and indexing takes a shift.
#[derive(Default)]
#[repr(align(64))]
struct OfAgent {
    /// The numbers that rewritten code passes for the methods, outermost first.
    numbers: Numbers,
    /// The number of other open calls, in unknown order.
    aside: AtomicU32,
}

impl OpenCalls {
    /// Records that the agent gets an entry.
    #[inline]
    pub fn enter(&self, agent: &Agent, number: u32) {
        let calls = self.of(agent);
        if !calls.numbers.push(number) {
            calls.set_aside();
        }
    }

    /// Records that the agent gets an exit, if it belongs to the innermost call. Otherwise changes nothing;
    /// [`Self::exit`] must decide.
    #[inline]
    pub fn exit_innermost(&self, agent: &Agent, number: u32) -> bool {
        self.of(agent).numbers.pop_if(number)
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
        let OfAgent { numbers, aside } = self.of(agent);
        let others = aside.load(Ordering::Relaxed);
        if others == 0 && !numbers.contains(number) {
            return false;
        }
        // `lost` may call the agent, which may call Java methods, so the stack is read again each time.
        while let Some(innermost) = numbers.last() {
            let left = method(innermost);
            numbers.pop();
            if innermost == number {
                return true;
            }
            lost(left);
        }
        aside.store(others.saturating_sub(1), Ordering::Relaxed);
        others > 0
    }

    /// Returns true if the innermost call is a call of this method.
    #[inline]
    pub fn is_innermost(&self, agent: &Agent, number: u32) -> bool {
        self.of(agent).numbers.last() == Some(number)
    }

    /// Closes the calls inside the call of this method that has caught an exception. The exception has ended all of
    /// them; they are passed to `lost` as by [`Self::exit`]. `frames` is called only if several calls of the method
    /// are open. If the innermost of them may have ended too, `frames` returns the number of frames that the method
    /// has on the stack: the innermost of these has caught the exception.
    pub fn go_on<M>(
        &self,
        agent: &Agent,
        number: u32,
        frames: impl FnOnce() -> Option<usize>,
        method: impl Fn(u32) -> M,
        mut lost: impl FnMut(M),
    ) {
        let OfAgent { numbers, aside } = self.of(agent);
        let is_it = |(_, other): &(u32, u32)| *other == number;
        let mut from_innermost = numbers.all().rev().filter(is_it).map(|(at, _)| at);
        let kept = match (from_innermost.next(), from_innermost.next()) {
            (None, _) if aside.load(Ordering::Relaxed) == 0 => return,
            // The call is one of those in unknown order.
            (None, _) => 0,
            (Some(last), None) => last + 1,
            (Some(last), Some(_)) => {
                let of_method = |frames: usize| numbers.all().filter(is_it).nth(frames - 1);
                let innermost = frames().filter(|frames| *frames > 0).and_then(of_method);
                innermost.map_or(last, |(at, _)| at) + 1
            }
        };
        while let Some(innermost) = numbers.last().filter(|_| numbers.count() > kept) {
            let left = method(innermost);
            numbers.pop();
            lost(left);
        }
    }

    /// Returns true if this `StackOverflowError` is not the last one that the thread has caught. While the same error
    /// ends one method after the other, no further exit report is lost: an error in a report would have replaced it.
    pub fn is_new_overflow(&self, jni: Jni, error: jobject) -> bool {
        let before = self.overflow.lock().take();
        let is_same = |before: &WeakRef| jni.same_object(before.get_alive(), error);
        let known = before.filter(is_same);
        let is_new = known.is_none();
        *self.overflow.lock() = known.or_else(|| Some(WeakRef::new(jni, error)));
        is_new
    }

    /// Only counts the calls that are open now. A virtual thread has been mounted or unmounted, so exits that come now
    /// need not belong to the entries before.
    pub fn set_aside(&self) {
        self.of_agents.iter().for_each(OfAgent::set_aside);
    }

    /// Returns the numbers of all calls. Called by another thread, it returns those that stay open meanwhile and some
    /// of the others.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.of_agents.iter().flat_map(|of_agent| of_agent.numbers.all().map(|(_, number)| number))
    }

    #[inline]
    fn of(&self, agent: &Agent) -> &OfAgent {
        &self.of_agents[agent.index % MAX_AGENTS]
    }
}

impl OfAgent {
    #[cold]
    fn set_aside(&self) {
        let aside = self.aside.load(Ordering::Relaxed);
        let count = self.numbers.count.swap(0, Ordering::Relaxed);
        self.aside.store(aside.saturating_add(count), Ordering::Relaxed);
    }
}

/// A stack of numbers. A full array is replaced by a longer one. The old arrays are kept, so that a slot found by an
/// index stays valid.
#[derive(Default)]
struct Numbers {
    count: AtomicU32,
    /// The length of the array, or of an earlier, shorter one.
    room: AtomicU32,
    slots: AtomicPtr<AtomicU32>,
    arrays: Lock<Vec<Box<[AtomicU32]>>>,
}

const FIRST_ROOM: u32 = 256;

/// The limit. The stack of a thread has at most a gigabyte, which hardly has room for so many calls.
const MOST: u32 = 1 << 24;

impl Numbers {
    /// Adds a number. Returns false if there are too many.
    #[inline]
    fn push(&self, number: u32) -> bool {
        let count = self.count.load(Ordering::Relaxed);
        let Some(slot) = self.slot(count) else { return self.grow() && self.push(number) };
        slot.store(number, Ordering::Relaxed);
        self.count.store(count + 1, Ordering::Release);
        true
    }

    /// Returns the number that was pushed last.
    #[inline]
    fn last(&self) -> Option<u32> {
        let last = self.count.load(Ordering::Acquire).checked_sub(1)?;
        // SAFETY: a slot exists before `count` includes it. Only longer arrays replace an array, and each lives as
        // long as `self`.
        let slot = unsafe { &*self.slots.load(Ordering::Relaxed).add(last as usize) };
        Some(slot.load(Ordering::Relaxed))
    }

    /// Removes the last number if it is this one.
    #[inline]
    fn pop_if(&self, number: u32) -> bool {
        let is_last = self.last() == Some(number);
        if is_last {
            self.pop();
        }
        is_last
    }

    #[inline]
    fn pop(&self) {
        let count = self.count.load(Ordering::Relaxed);
        // Release: a number is looked up before another thread sees that it is removed.
        self.count.store(count.saturating_sub(1), Ordering::Release);
    }

    fn contains(&self, number: u32) -> bool {
        self.all().any(|(_, other)| other == number)
    }

    fn count(&self) -> u32 {
        self.count.load(Ordering::Acquire)
    }

    /// Returns all numbers in the order of their push, each with its index.
    fn all(&self) -> impl DoubleEndedIterator<Item = (u32, u32)> {
        let slots = (0..self.count()).filter_map(|at| Some((at, self.slot(at)?)));
        slots.map(|(at, slot)| (at, slot.load(Ordering::Relaxed)))
    }

    #[inline]
    fn slot(&self, at: u32) -> Option<&AtomicU32> {
        let has_room = at < self.room.load(Ordering::Acquire);
        // SAFETY: the array is at least as long as `room`, because it is stored before its length is, and only longer
        // arrays replace it. It lives as long as `self`.
        has_room.then(|| unsafe { &*self.slots.load(Ordering::Relaxed).add(at as usize) })
    }

    #[cold]
    fn grow(&self) -> bool {
        let room = self.room.load(Ordering::Relaxed);
        if room >= MOST {
            return false;
        }
        let new_room = (2 * room).max(FIRST_ROOM);
        let number = |at| self.slot(at).map_or(0, |slot| slot.load(Ordering::Relaxed));
        let array: Box<[AtomicU32]> = (0..new_room).map(number).map(AtomicU32::new).collect();
        let mut arrays = self.arrays.lock();
        arrays.push(array);
        let slots = arrays.last().map_or(ptr::null(), |array| array.as_ptr());
        self.slots.store(slots.cast_mut(), Ordering::Relaxed);
        self.room.store(new_room, Ordering::Release);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::agents;

    fn entered(numbers: impl IntoIterator<Item = u32>) -> OpenCalls {
        let calls = OpenCalls::default();
        numbers.into_iter().for_each(|number| calls.enter(agents::get(0), number));
        calls
    }

    /// Returns the exits that an agent gets for these reported exits.
    fn exits(calls: &OpenCalls, reported: &[u32]) -> Vec<u32> {
        let agent = agents::get(0);
        let mut exits = Vec::new();
        for &number in reported {
            if calls.exit_innermost(agent, number)
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
        let mut exits = Vec::new();
        calls.go_on(agents::get(0), 7, || frames, |method| method, |lost| exits.push(lost));
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
        calls.enter(agents::get(0), 8);
        assert_eq!(caught(&calls, None), (vec![8], vec![]));
    }

    #[test]
    fn of_several_calls_of_a_method_the_innermost_that_has_a_frame_goes_on() {
        let open = [7, 1, 7, 8, 7, 9];
        assert_eq!(caught(&entered(open), None), (vec![9], vec![7, 1, 7, 8, 7]));
        assert_eq!(caught(&entered(open), Some(2)), (vec![9, 7, 8], vec![7, 1, 7]));
        assert_eq!(caught(&entered(open), Some(1)).1, [7]);
        // The entries of some frames may not have been sent.
        assert_eq!(caught(&entered(open), Some(4)).1, [7, 1, 7, 8, 7]);
        assert_eq!(caught(&entered([1, 7, 9]), Some(0)).1, [1, 7]);
    }

    #[test]
    fn calls_that_were_left_unseen_keep_their_numbers() {
        let calls = entered([1, 7, 8]);
        assert!(calls.exit_innermost(agents::get(0), 8));
        assert_eq!(calls.numbers().collect::<Vec<_>>(), [1, 7]);
        assert_eq!(exits(&calls, &[1]), [7, 1]);
        assert_eq!(calls.numbers().count(), 0);
    }

    #[test]
    fn virtual_threads_leave_what_they_have_entered_elsewhere() {
        let calls = entered([1, 2]);
        calls.set_aside();
        calls.enter(agents::get(0), 3);
        calls.enter(agents::get(0), 4);
        // The exit of 4 is not reported. The number of the other open calls is known, but not their methods.
        assert_eq!(exits(&calls, &[3, 8, 9, 1]), [4, 3, 8, 9]);
    }

    #[test]
    fn the_stack_is_as_deep_as_it_must_be() {
        let deep = 10 * FIRST_ROOM;
        let inwards: Vec<u32> = (0..deep).collect();
        let outwards: Vec<u32> = (0..deep).rev().collect();
        let calls = entered(inwards.iter().copied());
        assert_eq!(exits(&calls, &outwards), outwards);
        assert_eq!(exits(&calls, &outwards), []);
    }
}

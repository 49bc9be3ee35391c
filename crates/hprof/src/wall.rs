//! `cpu=wall`: which threads are sampled at a tick, how much time a sample stands for, and the state of the thread.
//!
//! A trace of each of thousands of threads at each tick would stop the program. So a tick takes at most [`MOST`]
//! threads, in turn. With `n` threads, each sample then stands for `n / MOST` ticks, so that all samples together
//! are the elapsed time of all threads, and the shares of states and methods do not depend on the number of threads.

use jvmpi::ThreadState;
use jvmpi_formats::profile::{ThreadSerial, WallState};
use std::time::{Duration, Instant};

/// The maximum number of threads that are sampled at a tick, without those that are asked again.
pub const MOST: usize = 8;

/// A thread that is to be sampled.
#[derive(Clone, Copy, Debug)]
pub struct Chosen<T> {
    /// The thread.
    pub thread: T,
    /// Its number.
    pub serial: ThreadSerial,
    /// The elapsed time for which its sample stands.
    pub time: Duration,
}

/// Takes the threads in turn.
#[derive(Debug)]
pub struct Turns<T> {
    /// The thread that was chosen last.
    last: ThreadSerial,
    /// The time of the previous tick.
    ticked: Instant,
    /// The threads of earlier ticks whose traces have not been available yet.
    again: Vec<Chosen<T>>,
    /// The time that is not counted yet, because it is less than a sample.
    rest: Duration,
}

impl<T: Copy> Turns<T> {
    /// Begins now.
    pub fn new() -> Self {
        Self {
            last: ThreadSerial(0),
            ticked: Instant::now(),
            again: Vec::new(),
            rest: Duration::ZERO,
        }
    }

    /// Restarts the time, which has not counted while no thread was sampled.
    pub fn restart(&mut self) {
        self.ticked = Instant::now();
        self.again.clear();
    }

    /// Chooses threads from the live ones, which it sorts.
    pub fn choose(&mut self, live: &mut [(T, ThreadSerial)], chosen: &mut Vec<Chosen<T>>) {
        let now = Instant::now();
        let elapsed = now - std::mem::replace(&mut self.ticked, now);
        self.choose_after(elapsed, live, chosen);
    }

    fn choose_after(
        &mut self,
        elapsed: Duration,
        live: &mut [(T, ThreadSerial)],
        chosen: &mut Vec<Chosen<T>>,
    ) {
        live.sort_unstable_by_key(|(_, serial)| *serial);
        chosen.clear();
        let count = live.len().min(MOST);
        if count == 0 {
            return;
        }
        let nanos = elapsed.as_nanos() * live.len() as u128 / count as u128;
        let time = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        let start = live.partition_point(|(_, serial)| *serial <= self.last);
        let in_turn = live[start..].iter().chain(&live[..start]).take(count);
        chosen.extend(in_turn.map(|(thread, serial)| Chosen {
            thread: *thread,
            serial: *serial,
            time,
        }));
        self.last = chosen[count - 1].serial;
        for again in self.again.drain(..) {
            if let Some(same) = chosen.iter_mut().find(|other| other.serial == again.serial) {
                same.time += again.time;
            } else if live.binary_search_by_key(&again.serial, |(_, serial)| *serial).is_ok() {
                chosen.push(again);
            }
        }
    }

    /// Takes note of a thread whose trace is not available yet: it is chosen at the next tick, too.
    pub fn ask_again(&mut self, chosen: Chosen<T>) {
        self.again.push(chosen);
    }

    /// Returns the number of samples that a time is worth. The remainder counts with the next one.
    pub fn samples(&mut self, time: Duration, interval: Duration) -> u64 {
        let all = (self.rest + time).as_nanos();
        let interval = interval.as_nanos().max(1);
        self.rest = Duration::from_nanos(u64::try_from(all % interval).unwrap_or(0));
        u64::try_from(all / interval).unwrap_or(u64::MAX)
    }
}

/// The innermost frame of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Innermost<'a> {
    /// The name of the class.
    pub class: &'a str,
    /// The name of the method.
    pub method: &'a str,
    /// True if the method is native.
    pub is_native: bool,
}

/// Returns the state of a thread. The frame decides first, because a thread may change its state between the
/// question for its status and its trace. A thread without a frame executes no Java code: it belongs to the VM or
/// to a native library.
pub fn state(status: ThreadState, innermost: Option<Innermost<'_>>) -> WallState {
    let is_native = innermost.is_none_or(|frame| frame.is_native);
    let waits = innermost.filter(|_| is_native).and_then(|frame| waits(frame.class, frame.method));
    match (waits, status) {
        // A thread that was notified waits for the monitor, still in Object.wait.
        (None | Some(WallState::Waiting), ThreadState::MonitorWait) => WallState::Blocked,
        (Some(state), _) => state,
        (None, ThreadState::CondvarWait) => WallState::Waiting,
        (None, _) if is_native => WallState::Native,
        (None, _) => WallState::Running,
    }
}

/// Returns the state of a thread in a native method in which threads wait, in the JDK from 11 on.
fn waits(class: &str, method: &str) -> Option<WallState> {
    match (class, method) {
        ("jdk.internal.misc.Unsafe" | "sun.misc.Unsafe", "park") => Some(WallState::Parked),
        ("java.lang.Object", "wait" | "wait0") => Some(WallState::Waiting),
        ("java.lang.Thread", "sleep" | "sleep0" | "sleepNanos0") => Some(WallState::Sleeping),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(count: u32) -> Vec<((), ThreadSerial)> {
        (1..=count).map(|serial| ((), ThreadSerial(serial))).collect()
    }

    /// The time of each thread after some ticks of 10 ms.
    fn times(ticks: u32, threads: u32) -> Vec<Duration> {
        let (mut turns, mut chosen) = (Turns::new(), Vec::new());
        let mut times = vec![Duration::ZERO; threads as usize];
        for _ in 0..ticks {
            turns.choose_after(Duration::from_millis(10), &mut live(threads), &mut chosen);
            assert_eq!(chosen.len(), MOST.min(threads as usize));
            for one in &chosen {
                times[one.serial.0 as usize - 1] += one.time;
            }
        }
        times
    }

    #[test]
    fn every_thread_gets_the_elapsed_time() {
        for threads in [1, 3, MOST as u32, 9, 40] {
            // Each thread has the same number of turns.
            let times = times(threads * 5, threads);
            let elapsed = Duration::from_millis(10) * threads * 5;
            assert!(times.iter().all(|time| *time == elapsed), "{threads}: {times:?}");
        }
    }

    #[test]
    fn thread_without_trace_keeps_its_time() {
        let (mut turns, mut chosen) = (Turns::new(), Vec::new());
        let tick = Duration::from_millis(10);
        turns.choose_after(tick, &mut live(2), &mut chosen);
        turns.ask_again(chosen[1]);
        turns.choose_after(tick, &mut live(2), &mut chosen);
        assert_eq!(chosen.iter().map(|one| one.time).collect::<Vec<_>>(), [tick, 2 * tick]);
        turns.ask_again(chosen[1]);
        // The thread has ended.
        turns.choose_after(tick, &mut live(1), &mut chosen);
        assert_eq!(chosen.len(), 1);
    }

    #[test]
    fn remainders_of_samples_are_kept() {
        let mut turns = Turns::<()>::new();
        let interval = Duration::from_millis(10);
        let samples = (0..8).map(|_| turns.samples(Duration::from_micros(12_500), interval));
        assert_eq!(samples.sum::<u64>(), 10);
    }
}

//! Raw monitors (`sync/raw_monitors.rs`), the locks that are held over calls of the VM (`sync/vm_locks.rs`), and the wait
//! of a suspended thread (`records/suspension.rs`).

use super::{monitor, new_monitor, shared, spawn};
use crate::records::suspension::{RUNNING, SUSPENDED, Suspension};
use crate::sync::raw_monitors::{self, RawMonitor};
use crate::sync::vm_locks;
use jvm::platform::model::machine;
use jvm::platform::sync::atomic::{AtomicU64, Ordering};
use std::sync::atomic as exact;
use std::sync::atomic::Ordering::SeqCst;

const THREADS: usize = 3;

/// Data that a lock protects.
#[derive(Default)]
struct Data {
    count: AtomicU64,
    exact: exact::AtomicU64,
    /// The thread that uses it, 0 for none.
    user: exact::AtomicI32,
}

impl Data {
    /// Adds one, in more than one step.
    fn add(&self) {
        self.begin();
        let before = self.count.load(Ordering::Relaxed);
        assert_eq!(before, self.exact.fetch_add(1, SeqCst), "a write is missing");
        machine::work(3);
        self.count.store(before + 1, Ordering::Relaxed);
        self.end();
    }

    /// The current thread has got the lock.
    fn begin(&self) {
        assert_eq!(self.user.swap(machine::number(), SeqCst), 0, "two threads own the lock");
    }

    /// It is about to release the lock.
    fn end(&self) {
        assert_eq!(self.user.swap(0, SeqCst), machine::number(), "two threads own the lock");
    }
}

fn enter(monitor: RawMonitor) {
    monitor.enter(|_, _| ());
}

fn exit(monitor: RawMonitor) {
    monitor.exit(|_, _| ());
}

fn wait(monitor: RawMonitor) {
    monitor.wait(None, |_, _| ());
}

/// Runs `run` on all threads of a model, with the number of the thread.
fn run_all(run: impl Fn(usize) + Copy + Send + 'static) {
    let all: Vec<_> = (0..THREADS).map(|number| spawn(number, move |_| run(number))).collect();
    all.into_iter().for_each(machine::join);
}

/// Runs threads that share a new raw monitor and data that it protects.
fn check(rounds: usize, run: fn(usize, RawMonitor, &Data)) {
    machine::check(rounds, move || {
        let (handle, data) = (new_monitor(), shared());
        run_all(move |number| run(number, monitor(handle), data));
        for snapshot in raw_monitors::all() {
            assert_eq!((snapshot.monitor.owner, snapshot.monitor.entry_count), (0, 0));
            assert!(snapshot.monitor.waiting_to_enter.is_empty());
            assert!(snapshot.monitor.waiting_to_be_notified.is_empty());
        }
        monitor(handle).destroy();
    });
}

/// The threads take turns: each waits, without a time limit, until it is notified that it is its turn. No notification
/// is lost, and a thread that has waited owns the monitor as often as before.
///
/// Fails if `wait` reads the number of notifications only when it has released the monitor, if `notify_all` does not
/// count, and if `wait` enters only once; if `release` wakes no thread, and if `exit` releases the monitor at the first call.
#[test]
fn no_notification_is_lost() {
    check(1_000, |number, monitor, data| {
        for _ in 0..2 {
            enter(monitor);
            enter(monitor);
            while data.exact.load(SeqCst) as usize % THREADS != number {
                wait(monitor);
            }
            exit(monitor);
            data.add();
            monitor.notify_all();
            exit(monitor);
        }
    });
}

/// Threads that wait for a monitor, to enter it or to be notified, return when it is destroyed.
///
/// Fails if `destroy` does not count as a notification, or wakes only one of the threads that wait to enter.
#[test]
fn destroyed_monitor_keeps_no_thread() {
    check(1_000, |number, monitor, _| {
        if number == 0 {
            enter(monitor);
            machine::work(40);
            monitor.destroy();
        } else {
            enter(monitor);
            wait(monitor);
            exit(monitor);
        }
    });
}

/// Runs threads that use the locks for tagging and suspending; `run` gets the number of the thread.
fn check_vm_locks(rounds: usize, run: fn(usize, &[Data; 2])) {
    machine::check(rounds, move || {
        let data = shared();
        run_all(move |number| run(number, data));
        // A wait that ends only by its timeout was not ended by the thread that should have done so.
        assert_eq!(machine::idle_times(), 0, "all threads wait for a lock that is free");
    });
}

/// One thread at a time owns the lock for tagging, and no thread sleeps while it is free.
///
/// Fails if `release` wakes no thread or releases with a Relaxed swap, and if a woken thread takes the lock without
/// `AWAITED`.
#[test]
fn one_thread_at_a_time_tags() {
    check_vm_locks(4_000, |_, [data, _]| {
        for _ in 0..2 {
            let _lock = vm_locks::for_tags();
            let _again = vm_locks::for_tags();
            data.add();
        }
    });
}

/// A thread that suspends others owns both locks.
///
/// Fails if `for_suspending` takes only one of them, and if `wait_for` does not wake the threads that let it go first.
#[test]
fn suspending_thread_owns_both_locks() {
    check_vm_locks(2_000, |number, [tagging, resuming]| {
        for _ in 0..2 {
            match number {
                0 => {
                    let _lock = vm_locks::for_tags();
                    tagging.add();
                }
                1 => {
                    let _lock = vm_locks::for_resuming();
                    resuming.add();
                }
                _ => {
                    let _lock = vm_locks::for_suspending();
                    assert!(vm_locks::is_suspending());
                    tagging.add();
                    resuming.add();
                }
            }
        }
    });
}

/// A suspended thread that waits to be resumed is woken.
///
/// Fails if `set_state` wakes it before it stores the state.
#[test]
fn resumed_thread_continues() {
    machine::check(1_000, || {
        let suspension: &Suspension = shared();
        suspension.set_state(SUSPENDED);
        let waiting = machine::spawn(move || suspension.wait_until_resumed(|| ()));
        machine::work(10);
        suspension.set_state(RUNNING);
        machine::join(waiting);
    });
}

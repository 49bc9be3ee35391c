//! Tests of the functions that every system has.

use super::{cpu_clock, futex, os_thread, own_memory};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn futex_wait_ends_when_the_word_is_woken_and_only_its_time_otherwise() {
    let word = AtomicU32::new(0);
    let began = Instant::now();
    assert!(futex::wait(&word, 1, None));
    assert!(!futex::wait(&word, 0, Some(20_000_000)));
    // Windows rounds the time down to a step of its clock.
    assert!(began.elapsed() >= Duration::from_millis(5));

    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            while word.load(Ordering::SeqCst) == 0 {
                futex::wait(&word, 0, None);
            }
        });
        word.store(1, Ordering::SeqCst);
        // The thread may reach this only later; then it does not wait.
        futex::wake(&word);
        futex::wake_one(&word);
        waiter.join().unwrap();
    });
}

#[test]
fn only_mapped_memory_is_read() {
    let there = [1_u8, 2, 3];
    let mut bytes = [0; 3];
    assert!(own_memory::read(there.as_ptr().expose_provenance(), &mut bytes));
    assert_eq!(bytes, there);
    assert!(!own_memory::read(0, &mut bytes));
    assert!(!own_memory::read(usize::MAX, &mut bytes));
}

#[test]
fn only_live_threads_have_clocks() {
    assert!(cpu_clock::of(os_thread::ask()).is_some());
    assert_eq!((cpu_clock::of(0), cpu_clock::of(-1)), (None, None));
    let gone = thread::spawn(os_thread::ask).join().unwrap();
    // The system may take a moment to remove a thread that was joined.
    let began = Instant::now();
    while cpu_clock::of(gone).is_some() {
        assert!(began.elapsed() < Duration::from_secs(10), "thread {gone} still has a clock");
        thread::yield_now();
    }
}

#[test]
fn clocks_of_a_thread_and_of_the_process_advance_with_work_only() {
    let (before, process) = (cpu_clock::current(), cpu_clock::of_process().unwrap());
    let began = Instant::now();
    while cpu_clock::current() - before < 40_000_000 {
        assert!(began.elapsed() < Duration::from_secs(60), "{before} {}", cpu_clock::current());
    }
    assert!(cpu_clock::of_process().unwrap() > process);
    let after = cpu_clock::of(os_thread::ask()).unwrap();
    assert!(after > before);
    thread::sleep(Duration::from_millis(50));
    assert!(cpu_clock::current() - after < 30_000_000, "sleeping is not work");
}

//! The shim's locks. A lock is held only briefly, and never during a call of the VM or of an agent.
//!
//! Such a call may block, reenter the shim, or suspend the thread while other threads wait for its locks. With debug
//! assertions, which all tests have, each thread counts the locks that it holds, and a call with a lock held is an
//! error ([`assert_none_held`]). Tables have locks too: [`Map`] returns copies of its values, and drops values only
//! after it has released its lock.
//!
//! Locks that must be held during calls of the VM are in `crate::sync::vm_locks`.

use crate::platform::sync::{Condvar, Mutex, MutexGuard, thread_local};
use dashmap::DashMap;
use rustc_hash::FxBuildHasher;
use std::cell::Cell;
use std::hash::Hash;
use std::ops::{Deref, DerefMut};
use std::sync::{OnceLock, PoisonError};
use std::time::Duration;

thread_local! {
    /// The number of locks that the current thread holds, with debug assertions.
    static HELD: Cell<u32> = const { Cell::new(0) };
}

/// A lock that the current thread holds.
struct Counted(());

impl Counted {
    #[inline]
    fn new() -> Self {
        if cfg!(debug_assertions) {
            HELD.with(|held| held.set(held.get() + 1));
        }
        Self(())
    }
}

impl Drop for Counted {
    #[inline]
    fn drop(&mut self) {
        if cfg!(debug_assertions) {
            HELD.with(|held| held.set(held.get() - 1));
        }
    }
}

/// Fails in debug builds if the current thread holds a lock. Called before every call of the VM or of an agent.
#[inline(always)]
#[track_caller]
pub fn assert_none_held() {
    debug_assert_eq!(HELD.with(Cell::get), 0, "one of the shim's locks is held during a call");
}

/// A value behind a lock. A panic with the lock held leaves the value as it is and the lock usable.
#[derive(Default)]
pub struct Lock<T>(Mutex<T>);

/// A guard that gives access to the value while the lock is held.
pub struct Locked<'a, T> {
    value: MutexGuard<'a, T>,
    counted: Counted,
}

impl<T> Lock<T> {
    pub const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub fn lock(&self) -> Locked<'_, T> {
        let value = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Locked { value, counted: Counted::new() }
    }
}

impl<T> Deref for Locked<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Locked<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

/// A condition variable. A thread that holds a [`Lock`] releases it while it waits.
#[derive(Default)]
pub struct Condition(Condvar);

impl Condition {
    pub const fn new() -> Self {
        Self(Condvar::new())
    }

    pub fn wait<'a, T>(&self, Locked { value, counted }: Locked<'a, T>) -> Locked<'a, T> {
        Locked { value: self.0.wait(value).unwrap_or_else(PoisonError::into_inner), counted }
    }

    /// Waits like [`Self::wait`], with a time limit. Returns false if the limit was reached.
    pub fn wait_for<'a, T>(
        &self,
        Locked { value, counted }: Locked<'a, T>,
        at_most: Duration,
    ) -> (Locked<'a, T>, bool) {
        let waited = self.0.wait_timeout(value, at_most);
        let (value, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        (Locked { value, counted }, !waited.timed_out())
    }

    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// A value that is computed on first use, without holding a lock. Several threads may compute it at the same time; all
/// of them get the result that was stored first.
pub struct Memo<T>(OnceLock<T>);

impl<T> Memo<T> {
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    pub fn get(&self) -> Option<&T> {
        self.0.get()
    }

    pub fn get_or_find(&self, find: impl FnOnce() -> T) -> &T {
        if let Some(known) = self.get() {
            return known;
        }
        let found = find();
        self.0.get_or_init(|| found)
    }
}

/// A table that all threads share. Functions passed to it run with a lock held. Keys are addresses and IDs, so no
/// attacker can choose keys that collide.
pub struct Map<K, V>(DashMap<K, V, FxBuildHasher>);

impl<K: Copy + Eq + Hash, V> Map<K, V> {
    pub fn new() -> Self {
        Self(DashMap::default())
    }

    pub fn get(&self, key: K) -> Option<V>
    where
        V: Clone,
    {
        self.0.get(&key).map(|value| value.clone())
    }

    pub fn contains(&self, key: K) -> bool {
        self.0.contains_key(&key)
    }

    pub fn insert(&self, key: K, value: V) {
        drop(self.0.insert(key, value));
    }

    /// Returns the value of the key, after inserting `value` if there was none.
    pub fn get_or_insert(&self, key: K, value: V) -> V
    where
        V: Clone,
    {
        // An unused `value` is dropped after the lock is released.
        let mut value = Some(value);
        self.0.entry(key).or_insert_with(|| value.take().expect("it is taken once")).clone()
    }

    /// Changes the value of the key, which is created first if there is none.
    pub fn change_or_insert<R>(
        &self,
        key: K,
        make: impl FnOnce() -> V,
        change: impl FnOnce(&mut V) -> R,
    ) -> R {
        let _counted = Counted::new();
        change(&mut self.0.entry(key).or_insert_with(make))
    }

    /// Changes the value of the key, if there is one.
    pub fn change<R>(&self, key: K, change: impl FnOnce(&mut V) -> R) -> Option<R> {
        let _counted = Counted::new();
        self.0.get_mut(&key).map(|mut value| change(&mut value))
    }

    pub fn remove(&self, key: K) -> Option<V> {
        self.remove_if(key, |_| true)
    }

    pub fn remove_if(&self, key: K, is_it: impl FnOnce(&V) -> bool) -> Option<V> {
        let _counted = Counted::new();
        self.0.remove_if(&key, |_, value| is_it(value)).map(|(_, value)| value)
    }

    pub fn take_all(&self) -> Vec<V> {
        self.keys().into_iter().filter_map(|key| self.remove(key)).collect()
    }

    pub fn keys(&self) -> Vec<K> {
        self.0.iter().map(|entry| *entry.key()).collect()
    }

    pub fn values(&self) -> Vec<V>
    where
        V: Clone,
    {
        self.0.iter().map(|entry| entry.value().clone()).collect()
    }

    pub fn entries(&self) -> Vec<(K, V)>
    where
        V: Clone,
    {
        self.0.iter().map(|entry| (*entry.key(), entry.value().clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    fn call_fails() -> bool {
        catch_unwind(assert_none_held).is_err()
    }

    #[test]
    fn call_with_a_lock_held_is_an_error() {
        let (one, other) = (Lock::new(1), Lock::new(2));
        assert!(!call_fails());
        let first = one.lock();
        drop(other.lock());
        assert_eq!(call_fails(), cfg!(debug_assertions));
        drop(first);
        assert!(!call_fails());

        let panics = AssertUnwindSafe(|| {
            *one.lock() += 1;
            let _locked = one.lock();
            panic!("inside");
        });
        assert!(catch_unwind(panics).is_err());
        assert!(!call_fails() && *one.lock() == 2);
    }

    #[test]
    fn table_drops_values_and_returns_with_no_lock_held() {
        struct Calls;
        impl Drop for Calls {
            fn drop(&mut self) {
                assert_none_held();
            }
        }
        let map = Map::new();
        let first = map.get_or_insert(1, Arc::new(Calls));
        assert!(Arc::ptr_eq(&map.get_or_insert(1, Arc::new(Calls)), &first));
        map.insert(1, Arc::new(Calls));
        assert!(map.remove_if(1, |_| false).is_none());
        assert!(map.change(1, |_| call_fails()) == Some(cfg!(debug_assertions)));
        assert_eq!((map.keys(), map.values().len()), (vec![1], 1));
        assert!(map.remove(1).is_some() && !map.contains(1));
        assert!(!call_fails());
    }
}

//! Thread-local data is dropped once, after its thread has ended, and not while another thread uses it.

#[macro_use]
mod fake_vm;

use jvmpi::sys::jni_sys::JNI_OK;
use jvmpi::sys::*;
use jvmpi::*;
use std::sync::Mutex;

static DROPPED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

fn dropped() -> Vec<usize> {
    std::mem::take(&mut DROPPED.lock().unwrap())
}

#[derive(Debug)]
struct Data(usize);

impl Drop for Data {
    fn drop(&mut self) {
        DROPPED.lock().unwrap().push(self.0);
    }
}

struct Keeper {
    data: ThreadLocal<Data>,
    kept: Mutex<Option<Theirs<Data>>>,
}

impl Agent for Keeper {
    fn load(jvmpi: &mut OnLoad, _: &str) -> Result<Self, LoadError> {
        let data = ThreadLocal::new(jvmpi)?;
        assert!(ThreadLocal::<u8>::new(jvmpi).is_err(), "there can be only one");
        Ok(Self { data, kept: Mutex::default() })
    }

    fn method_entry(&self, jvmpi: &mut MultiThreaded<'_>, _: MethodId) {
        let number = jvmpi.thread().as_usize();
        let data = self.data.get_or_init(jvmpi, || Data(number)).expect("the event has a thread");
        assert_eq!(data.0, number);
        let again = self.data.get_or_init(jvmpi, || unreachable!());
        assert!(std::ptr::eq(data, again.expect("the thread has data")));
    }

    /// GC_START belongs to no thread.
    fn gc_start(&self, jvmpi: &mut MultiThreaded<'_>) {
        assert!(self.data.get(jvmpi).is_none());
        assert!(self.data.get_or_init(jvmpi, || unreachable!()).is_none());
        let of = jvmpi.thread();
        assert_eq!(self.data.of(jvmpi, of).map(|data| data.0), Some(of.as_usize()));
    }

    /// Reads the data of thread 1, and that of thread 7, which has sent no event yet.
    fn monitor_wait(&self, jvmpi: &mut GcDisabled<'_>, _: MonitorWait) {
        let [one, seven] = [1, 7].map(|number| ThreadId::from_usize(number * 16).unwrap());
        *self.kept.lock().unwrap() = self.data.of(jvmpi, one);
        assert!(self.data.of(jvmpi, seven).is_none());
        let data = self.data.of_or_init(jvmpi, seven, || Data(112));
        assert_eq!(data.map(|data| data.0), Some(112));
    }

    fn monitor_waited(&self, _: &mut GcDisabled<'_>, _: MonitorWait) {
        let kept = self.kept.lock().unwrap().take();
        assert_eq!(kept.map(|data| data.0), Some(16));
    }

    fn thread_end(&self, jvmpi: &mut MultiThreaded<'_>) {
        assert!(self.data.get(jvmpi).is_some(), "the data is there until the end");
    }
}

#[test]
fn data_is_dropped_once_no_thread_uses_it() {
    let vm = fake_vm::vm(JVMPI_VERSION_1_2);
    assert_eq!(load!(Keeper, vm, c"".as_ptr()), JNI_OK);
    assert_eq!(fake_vm::calls(), [("EnableEvent", JVMPI_EVENT_THREAD_END as usize)]);

    for thread in [16, 32, 48, 64] {
        fake_vm::send(JVMPI_EVENT_METHOD_ENTRY, thread);
    }
    fake_vm::send(JVMPI_EVENT_GC_START, 32);
    assert_eq!(dropped(), []);
    fake_vm::send(JVMPI_EVENT_THREAD_END, 48);
    assert_eq!(dropped(), [48]);

    // While the data of one thread is in use, no data is dropped.
    fake_vm::send(JVMPI_EVENT_MONITOR_WAIT, 32);
    fake_vm::send(JVMPI_EVENT_THREAD_END, 16);
    fake_vm::send(JVMPI_EVENT_THREAD_END, 32);
    assert_eq!(dropped(), []);
    // A new thread with the environment of an ended one does not see the old data.
    fake_vm::send(JVMPI_EVENT_METHOD_ENTRY, 32);
    fake_vm::send(JVMPI_EVENT_MONITOR_WAITED, 32);
    assert_eq!(dropped(), []);
    fake_vm::send(JVMPI_EVENT_THREAD_END, 64);
    let mut all = dropped();
    all.sort_unstable();
    assert_eq!(all, [16, 32, 64]);
    fake_vm::send(JVMPI_EVENT_METHOD_ENTRY, 112);
    fake_vm::send(JVMPI_EVENT_THREAD_END, 112);
    fake_vm::send(JVMPI_EVENT_THREAD_END, 32);
    assert_eq!(dropped(), [112, 32]);
    // A failed assertion in a method would have disabled its event.
    assert_eq!(fake_vm::calls(), []);
}

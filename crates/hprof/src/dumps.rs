//! Dumps: their sections in a fixed order, written by one thread at a time.

use crate::events::costly_events;
use crate::message::{Progress, error};
use crate::mutex::lock;
use crate::output::Output;
use crate::session::Session;
use crate::shared::Shared;
use crate::symbols::{Event, bring_up_to_date};
use crate::{heap, monitors};
use jvmpi::{EventType, Level, MultiThreaded, OnLoad, RawMonitor};
use jvmpi_formats::hprof::control::{Command, Control, SiteFlags};
use jvmpi_formats::hprof::options::{Cpu, Options};
use jvmpi_formats::profile::{
    CpuTime, DumpKind, Profile, Section, Settings, StackTime, Time, preamble,
};
use std::cell::RefCell;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Serializes writing. The writing thread takes the [`Work`] and puts it back; no thread holds the monitor
/// meanwhile.
#[derive(Debug)]
pub struct Dumps(RawMonitor<RefCell<Slot>>);

#[derive(Debug)]
enum Slot {
    Free(Box<Work>),
    Taken,
    Ended,
}

/// The data that writing needs.
pub struct Work {
    output: Output,
    /// A copy of the tables, used while writing.
    profile: Profile,
    /// The number of thread and class events that are already written.
    events: usize,
    /// True if the user was warned that there are too many stacks.
    has_said_limit: bool,
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Work").field("output", &self.output.name()).finish_non_exhaustive()
    }
}

impl Dumps {
    /// Creates the state before the first dump.
    pub fn new(jvmpi: &OnLoad, options: &Options, output: Output) -> Self {
        let work = Box::new(Work::new(options, output));
        Self(RawMonitor::new(jvmpi, c"_hprof dumps", RefCell::new(Slot::Free(work))))
    }

    /// Returns true if the profiling has ended.
    pub fn have_ended(&self, jvmpi: &OnLoad) -> bool {
        matches!(*self.0.enter(jvmpi).borrow(), Slot::Ended)
    }

    /// Begins a new recording after the end of another one.
    pub fn begin_again(&self, jvmpi: &OnLoad, options: &Options, output: Output) {
        self.0.enter(jvmpi).replace(Slot::Free(Box::new(Work::new(options, output))));
    }

    /// Returns the connection to a front end, if there is one.
    pub fn connection(&self, jvmpi: &MultiThreaded<'_>) -> Option<TcpStream> {
        match &*self.0.enter(jvmpi).borrow() {
            Slot::Free(work) => work.output.connection()?.ok(),
            _ => None,
        }
    }

    /// Takes the [`Work`] out. Returns None if profiling has ended. If another thread has it, waits with `wait`,
    /// and fails with [`Busy`] without.
    fn take(&self, jvmpi: &MultiThreaded<'_>, wait: bool) -> Result<Option<Box<Work>>, Busy> {
        let mut slot = self.0.enter(jvmpi);
        loop {
            match slot.replace(Slot::Taken) {
                Slot::Free(work) => return Ok(Some(work)),
                Slot::Ended => {
                    slot.replace(Slot::Ended);
                    return Ok(None);
                }
                Slot::Taken if wait => slot.wait(jvmpi, None),
                Slot::Taken => return Err(Busy),
            }
        }
    }

    fn put(&self, jvmpi: &MultiThreaded<'_>, next: Slot) {
        let slot = self.0.enter(jvmpi);
        slot.replace(next);
        slot.notify_all(jvmpi);
    }

    /// Makes a dump of everything that the options select.
    pub fn dump(&self, shared: &Shared, jvmpi: &mut MultiThreaded<'_>) {
        match self.take(jvmpi, false) {
            Ok(Some(mut work)) => {
                work.dump(shared, jvmpi, DumpKind::Dump);
                self.put(jvmpi, Slot::Free(work));
            }
            Ok(None) => {}
            Err(Busy) => error(&"a dump is already being written; this request is ignored"),
        }
    }

    /// Executes a command of a front end. Returns false at the end of the profiling.
    pub fn command(
        &self,
        shared: &Shared,
        jvmpi: &mut MultiThreaded<'_>,
        command: Command,
    ) -> bool {
        if let Command::Stop { dump } = command {
            self.stop(shared, jvmpi, dump);
            return false;
        }
        let Ok(Some(mut work)) = self.take(jvmpi, true) else { return false };
        work.command(shared, jvmpi, command);
        self.put(jvmpi, Slot::Free(work));
        true
    }

    /// Ends the profiling, after a last dump if `dump` is set. The program continues.
    pub fn stop(&self, shared: &Shared, jvmpi: &mut MultiThreaded<'_>, dump: bool) {
        // Objects that are allocated after the collection would count as survivors. OBJECT_FREE is still needed.
        if shared.session().options.live {
            let _ = jvmpi.disable(EventType::ObjectAlloc);
        }
        collect_for_last_dump(shared, jvmpi, dump);
        for event in costly_events(&shared.session().options) {
            // An event that cannot be disabled continues without effect.
            let _ = jvmpi.disable(event);
        }
        self.finish(shared, jvmpi, dump, true);
    }

    /// Ends the profiling after `duration`.
    pub fn end_after(&self, shared: &Shared, jvmpi: &mut MultiThreaded<'_>, duration: Duration) {
        let session = shared.session();
        let end = Instant::now() + duration;
        loop {
            let mut slot = self.0.enter(jvmpi);
            let is_other = !Arc::ptr_eq(&session, &shared.session());
            if matches!(*slot.borrow(), Slot::Ended) || is_other {
                return;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            slot.wait(jvmpi, Some(left));
        }
        self.stop(shared, jvmpi, true);
    }

    /// Ends writing and the agent's threads, after a last dump if `dump` is set.
    pub fn end(&self, shared: &Shared, jvmpi: &mut MultiThreaded<'_>, dump: bool) {
        collect_for_last_dump(shared, jvmpi, dump);
        self.finish(shared, jvmpi, dump, false);
    }

    fn finish(&self, shared: &Shared, jvmpi: &mut MultiThreaded<'_>, dump: bool, goes_on: bool) {
        let orders = shared.sampler.enter(jvmpi);
        orders.borrow_mut().end = true;
        orders.notify_all(jvmpi);
        drop(orders);
        let Ok(Some(mut work)) = self.take(jvmpi, true) else { return };
        if dump {
            let kind = if goes_on { DumpKind::Last } else { DumpKind::AtExit };
            work.dump(shared, jvmpi, kind);
        }
        lock(&shared.cpu).end();
        // The command may begin the next recording as soon as the connection is closed.
        let Work { mut output, profile, .. } = *work;
        drop(profile);
        if goes_on {
            shared.forget_recorded(jvmpi);
        } else if shared.session().options.hold {
            output.hold();
        }
        output.close();
        self.put(jvmpi, Slot::Ended);
    }
}

/// With `live=y`, runs a collection before the last dump, so that the dump has only the survivors.
fn collect_for_last_dump(shared: &Shared, jvmpi: &mut MultiThreaded<'_>, dump: bool) {
    if dump && shared.session().options.live {
        jvmpi.run_gc();
    }
}

/// The error that another thread is writing.
struct Busy;

impl Work {
    fn new(options: &Options, output: Output) -> Self {
        let settings = Settings {
            alloc_traces: options.sites || options.heap_dump,
            cpu_sampling: options.samples(),
            depth: options.depth,
        };
        let profile = Profile {
            created: Time::now(),
            preamble: preamble(options.sample),
            settings: Some(settings),
            ..Profile::default()
        };
        Self { output, profile, events: 0, has_said_limit: false }
    }

    /// Calls `write` and logs an error as one line. An abandoned front end was already reported, so nothing is
    /// written.
    fn write(&mut self, write: impl FnOnce(&mut Self) -> io::Result<()>) -> bool {
        if self.output.is_gone() {
            return false;
        }
        let result = self.output.begin(&self.profile).and_then(|is_new| {
            if is_new {
                self.events = 0;
            }
            write(self)?;
            let Self { output, profile, .. } = self;
            output.finish(profile)
        });
        if let Err(why) = &result {
            self.output.give_up();
            error(&format_args!(
                "cannot write {}: {why}; the program continues",
                self.output.name()
            ));
        }
        result.is_ok()
    }

    /// Writes the sections that the options select. A snapshot omits those that require stopping the program.
    /// [`DumpKind::Dump`] makes times and samples restart at zero.
    fn dump(&mut self, shared: &Shared, jvmpi: &mut MultiThreaded<'_>, kind: DumpKind) {
        let session = shared.session();
        let options = &session.options;
        let (all, clear) = (kind != DumpKind::Snapshot, kind == DumpKind::Dump);
        let progress = Progress::begin(options.verbose && all);
        let well = self.write(|work| {
            if options.cpu != Some(Cpu::Old) {
                work.events(shared)?;
            }
            if options.monitor {
                progress.part("contended monitor usage");
                if all {
                    match monitors::dump(shared, jvmpi) {
                        Ok(dump) => work.section(shared, dump)?,
                        Err(why) => error(&format_args!("no monitor dump: {why}")),
                    }
                }
                let times = lock(&session.waits).section(options.cutoff, clear);
                work.section(shared, times)?;
            }
            if options.heap_dump && all {
                progress.part("Java heap");
                work.heap_dump(shared, jvmpi)?;
            }
            if options.sites {
                progress.part("allocation sites");
                work.sites(shared, jvmpi, SiteFlags::default(), options.cutoff)?;
            }
            match options.cpu {
                Some(Cpu::Samples) => {
                    progress.part("CPU usage by sampling running threads");
                    let is_last = matches!(kind, DumpKind::Last | DumpKind::AtExit);
                    shared.complete_cpu_samples(&session, jvmpi, is_last);
                    work.section(shared, session.cpu_samples(options.cutoff, clear))?;
                }
                Some(Cpu::Wall) => {
                    progress.part("elapsed time by sampling all threads");
                    work.section(shared, session.cpu_samples(options.cutoff, clear))?;
                }
                Some(Cpu::Times) => {
                    progress.part("CPU usage by timing methods");
                    work.call_times(shared, &session, clear)?;
                    work.say_if_limited(shared, &session)?;
                }
                Some(Cpu::Old) => {
                    progress.part("CPU usage in old prof format");
                    let calls = session.cpu_old(&lock(&shared.known).profile);
                    work.section(shared, calls)?;
                }
                None => {}
            }
            work.output.writer()?.end_dump(kind)
        });
        progress.end(well);
    }

    fn call_times(&mut self, shared: &Shared, session: &Session, clear: bool) -> io::Result<()> {
        let (mut times, rows) = session.call_times(clear);
        self.look_again(shared);
        let Self { output, profile, .. } = self;
        if output.writer()?.stack_times(profile, &times, &mut rows.iter().copied())? {
            return Ok(());
        }
        let row = |StackTime { thread, stack, own, calls }| {
            let trace = lock(&shared.known).profile.traces.intern_stack(thread, stack);
            CpuTime { trace, own, calls }
        };
        times.rows = rows.into_iter().map(row).collect();
        times.rank(session.options.cutoff as f32);
        self.section(shared, times)
    }

    /// Reports once in a session that there were more stacks than the limit.
    fn say_if_limited(&mut self, shared: &Shared, session: &Session) -> io::Result<()> {
        let most = session.options.contexts as usize;
        let is_reached =
            session.contexts.is_reached() || lock(&shared.known).profile.traces.stacks() > most;
        if is_reached && !std::mem::replace(&mut self.has_said_limit, true) {
            let line = format!(
                "more than {most} stacks were called: calls from other stacks are recorded without \
                 their callers; set a smaller depth, or exclude classes"
            );
            if !self.output.writer()?.note(&line)? {
                error(&line);
            }
        }
        Ok(())
    }

    fn command(&mut self, shared: &Shared, jvmpi: &mut MultiThreaded<'_>, command: Command) {
        let session = shared.session();
        match command {
            Command::RunGc => jvmpi.run_gc(),
            Command::DumpHeap => drop(self.write(|work| work.heap_dump(shared, jvmpi))),
            Command::AllocSites { flags, cutoff } => {
                if flags.collect() {
                    jvmpi.run_gc();
                }
                self.write(|work| work.sites(shared, jvmpi, flags, cutoff.into()));
            }
            Command::HeapSummary => {
                let summary = session.heap_summary(&shared.heap.enter(jvmpi).borrow().freed);
                self.write(|work| work.section(shared, summary));
            }
            Command::Exit => {
                self.output.close();
                error(&"the front end ends the program");
                jvmpi.profiler_exit(0);
            }
            Command::DumpTraces => drop(self.write(|work| work.all_traces(shared))),
            Command::CpuSamples { cutoff } => {
                shared.complete_cpu_samples(&session, jvmpi, false);
                let samples = session.cpu_samples(cutoff.into(), false);
                self.write(|work| work.section(shared, samples));
            }
            Command::Control(control) => self.control(shared, &session, jvmpi, control),
            Command::Dump => self.dump(shared, jvmpi, DumpKind::Dump),
            Command::Snapshot => self.dump(shared, jvmpi, DumpKind::Snapshot),
            Command::Stop { .. } => {}
        }
    }

    fn control(
        &mut self,
        shared: &Shared,
        session: &Session,
        jvmpi: &MultiThreaded<'_>,
        control: Control,
    ) {
        let sample = |thread, sampled| {
            let orders = shared.sampler.enter(jvmpi);
            orders.borrow_mut().sampled.change(thread, sampled);
            orders.notify_all(jvmpi);
        };
        let switched = match control {
            Control::AllocTracesOn => match session.options.sample {
                Some(interval) => jvmpi.enable_sampled_allocations(interval),
                None => jvmpi.enable(EventType::ObjectAlloc),
            },
            Control::AllocTracesOff => jvmpi.disable(EventType::ObjectAlloc),
            Control::SamplingOn(thread) => return sample(thread, true),
            Control::SamplingOff(thread) => return sample(thread, false),
            Control::ClearSamples => return session.clear_samples(),
            Control::ClearSites => return session.clear_sites(),
            Control::Depth(depth) => {
                session.set_depth(depth);
                shared.next_epoch();
                return;
            }
            Control::Unknown(_) => return,
        };
        if let Err(why) = switched {
            error(&why);
        }
    }

    /// Writes a section, after the tables that it refers to.
    fn section(&mut self, shared: &Shared, section: impl Into<Section>) -> io::Result<()> {
        self.look_again(shared);
        let Self { output, profile, .. } = self;
        let section = section.into();
        let writer = output.writer()?;
        if writer.holds(&section) { writer.section(profile, &section) } else { Ok(()) }
    }

    fn look_again(&mut self, shared: &Shared) {
        bring_up_to_date(&mut self.profile, &lock(&shared.known).profile);
    }

    /// Writes the events of threads and classes that are not written yet.
    fn events(&mut self, shared: &Shared) -> io::Result<()> {
        let events = {
            let known = lock(&shared.known);
            bring_up_to_date(&mut self.profile, &known.profile);
            known.events[self.events..].to_vec()
        };
        self.events += events.len();
        let Self { output, profile, .. } = self;
        let writer = output.writer()?;
        events.into_iter().try_for_each(|event| match event {
            Event::ThreadStart(thread) => writer.thread_start(profile, thread),
            Event::ThreadEnd(thread) => writer.thread_end(profile, thread),
            Event::ClassUnload(class) => writer.class_unload(profile, class),
        })
    }

    fn all_traces(&mut self, shared: &Shared) -> io::Result<()> {
        self.look_again(shared);
        self.output.writer()?.traces(&self.profile)
    }

    fn sites(
        &mut self,
        shared: &Shared,
        jvmpi: &MultiThreaded<'_>,
        flags: SiteFlags,
        cutoff: f64,
    ) -> io::Result<()> {
        let session = shared.session();
        let freed = shared.heap.enter(jvmpi).borrow().freed.clone();
        self.section(shared, session.sites(&freed, flags, cutoff))
    }

    fn heap_dump(&mut self, shared: &Shared, jvmpi: &mut MultiThreaded<'_>) -> io::Result<()> {
        self.events(shared)?;
        let Self { output, profile, .. } = self;
        let writer = output.writer()?;
        let level = if writer.needs_values() { Level::Values } else { Level::References };
        let result = jvmpi
            .heap_dump(level, |jvmpi, dump| heap::write(shared, jvmpi, &dump, profile, writer));
        result.unwrap_or_else(|why| {
            error(&format_args!("no heap dump: {why}"));
            Ok(())
        })
    }
}

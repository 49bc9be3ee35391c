//! Pages as profiles again.
//!
//! A page lacks the objects of heap dumps, monitor dumps, IDs, and the parts of names that no view shows; a site has its type as the
//! name of its class.

use std::time::Duration;

use jvmpi_formats::profile::{
    Amount, BucketSamples, CpuSample, CpuSamples, CpuTime, CpuTimes, Frame, FrameId, Line, Method,
    MethodId, Monitor, MonitorTime, MonitorTimes, NameId, ObjectId, Profile, Site, Sites, StackId,
    Thread, ThreadSerial, Time, Timeline, TraceSerial, WallState,
};
use serde::Deserialize;

use super::stacks::{Measure, Table, Unit};
use super::{Code, Data, SCHEMA, Threads, VERSION};
use crate::Recording;
use crate::input::microseconds;

/// The beginning of the data.
#[derive(Deserialize)]
struct Start {
    #[serde(default)]
    schema: String,
    #[serde(default)]
    version: u32,
}

/// Returns the profile in the data of a page, and its recording.
pub(crate) fn read(json: &[u8]) -> Result<(Profile, Option<Recording>), String> {
    let damaged = |why| format!("the data of this page is damaged: {why}");
    let start: Start = serde_json::from_slice(json).map_err(|e| damaged(e.to_string()))?;
    if start.schema != SCHEMA {
        return Err(
            "this page was not written by this version of jvmpi: its data names no schema".into()
        );
    }
    if start.version != VERSION {
        return Err(format!(
            "this page has version {} of its data, but this jvmpi reads version {VERSION}",
            start.version
        ));
    }
    let data: Data = serde_json::from_slice(json).map_err(|e| damaged(e.to_string()))?;
    if data.profiles.len() != 1 {
        let count = data.profiles.len();
        return Err(format!("this page compares {count} profiles; give the page of one"));
    }
    Reader::of(&data).ok_or_else(|| damaged("a number leads nowhere".into()))
}

/// A profile that is being built. A method returns None where a number of the data is wrong.
struct Reader<'a> {
    strings: &'a [String],
    profile: Profile,
    methods: Vec<MethodId>,
    /// The numbers of threads by their index.
    threads: Vec<ThreadSerial>,
}

impl Reader<'_> {
    fn of(data: &Data) -> Option<(Profile, Option<Recording>)> {
        let header = data.profiles.first()?;
        let mut reader = Reader {
            strings: &data.strings,
            profile: Profile { created: Time(header.created), ..Profile::default() },
            methods: Vec::new(),
            threads: Vec::new(),
        };
        let interval = header.recording.as_ref().and_then(|recording| recording.interval);
        reader.code(&data.code)?;
        reader.threads(&data.threads)?;
        for table in &data.tables {
            match &*table.kind {
                "samples" | "wall" => reader.samples(table, interval)?,
                "times" => reader.times(table)?,
                "sites" => reader.sites(table)?,
                "monitors" => reader.monitors(table)?,
                _ => return None,
            }
        }
        Some((reader.profile, header.recording.clone()))
    }

    fn name(&mut self, string: u32) -> Option<NameId> {
        Some(self.profile.names.intern(self.strings.get(string as usize)?))
    }

    fn object(&self, row: i32) -> Option<&str> {
        Some(self.strings.get(usize::try_from(row).ok()?)?)
    }

    fn code(&mut self, code: &Code) -> Option<()> {
        let (methods, frames, nodes) = (&code.methods, &code.frames, &code.nodes);
        for (row, class) in methods.class.iter().enumerate() {
            let (name, source) = (*methods.name.get(row)?, *methods.source.get(row)?);
            let (class, name) = (self.name(*class)?, self.name(name)?);
            let method = Method { class, name, source: self.name(source)?, ..Method::default() };
            self.methods.push(self.profile.methods.intern(method));
        }
        let mut ids: Vec<FrameId> = Vec::new();
        for (row, method) in frames.method.iter().enumerate() {
            let method = *self.methods.get(*method as usize)?;
            let line = Line::from_code(*frames.line.get(row)?);
            ids.push(self.profile.frames.intern(Frame { method, line }));
        }
        for (parent, frame) in nodes.parent.iter().zip(&nodes.frame).skip(1) {
            let (caller, frame) = (self.stack(*parent)?, *ids.get(*frame as usize)?);
            self.profile.traces.add_stack(caller, frame);
        }
        Some(())
    }

    fn threads(&mut self, threads: &Threads) -> Option<()> {
        let (serials, ended) = (threads.serial.first()?, threads.ended.first()?);
        let (started, nodes) = (threads.started.first()?, threads.node.first()?);
        for (row, serial) in serials.iter().enumerate() {
            let serial = ThreadSerial(*serial);
            self.threads.push(serial);
            let (name, group) = (*threads.name.get(row)?, *threads.group.get(row)?);
            let started = Some(Time(*started.get(row)?)).filter(|time| *time != Time(0));
            let thread = Thread {
                serial,
                name: self.name(name)?,
                group: self.name(group)?,
                trace: match *nodes.get(row)? {
                    0 => TraceSerial(0),
                    node => self.trace(node, -1)?,
                },
                started,
                ended: *ended.get(row)?,
                ..Thread::default()
            };
            self.profile.threads.insert(serial, thread);
        }
        Some(())
    }

    /// Returns the number of a thread; 0 of an unknown one.
    fn thread(&self, index: i32) -> Option<ThreadSerial> {
        usize::try_from(index)
            .map_or(Some(ThreadSerial(0)), |index| self.threads.get(index).copied())
    }

    /// Returns the stack of a node, which has the same number.
    fn stack(&self, node: u32) -> Option<StackId> {
        Some(StackId(node)).filter(|stack| self.profile.traces.has(*stack))
    }

    fn trace(&mut self, node: u32, thread: i32) -> Option<TraceSerial> {
        let (stack, thread) = (self.stack(node)?, self.thread(thread)?);
        Some(self.profile.traces.intern_stack(thread, stack))
    }

    /// Returns the trace of a row.
    fn trace_of(&mut self, table: &Table, row: usize) -> Option<TraceSerial> {
        self.trace(*table.node.get(row)?, *table.thread.get(row)?)
    }

    fn samples(&mut self, table: &Table, interval: Option<Duration>) -> Option<()> {
        let measure = table.measures.first()?;
        let each = match measure.unit {
            Unit::Microseconds => interval.map_or(1, microseconds).max(1),
            _ => 1,
        };
        let mut traces = Vec::new();
        let mut rows = Vec::new();
        for (row, value) in measure.values.first()?.iter().enumerate() {
            let mut trace = self.trace_of(table, row)?;
            if table.kind == "wall" {
                let label = self.object(*table.object.get(row)?)?;
                let state = WallState::ALL.into_iter().find(|state| state.label() == label)?;
                let frame = self.profile.state_frame(state);
                let thread = self.thread(*table.thread.get(row)?)?;
                let traces = &mut self.profile.traces;
                let stack = traces.push(traces.frames_of(trace).id(), frame);
                trace = traces.intern_stack(thread, stack);
            }
            traces.push(trace);
            rows.push(CpuSample::new(trace, value / each));
        }
        let mut timeline = Timeline::default();
        if let Some(times) = &table.times {
            timeline.bucket = Duration::from_micros(times.bucket);
            for (index, bucket) in times.number.iter().enumerate() {
                let trace = *traces.get(*times.row.get(index)? as usize)?;
                let samples = times.value.get(index)? / each;
                let bucket = u32::try_from(*bucket).ok()?;
                timeline.rows.push(BucketSamples { bucket, trace, samples });
            }
        }
        let total = measure.total.first()? / each;
        let samples = CpuSamples { at: None, interval, total, rows, timeline };
        self.profile.sections.push(samples.into());
        Some(())
    }

    fn times(&mut self, table: &Table) -> Option<()> {
        let [own, calls] = &table.measures[..] else { return None };
        let mut rows = Vec::new();
        for (row, time) in own.values.first()?.iter().enumerate() {
            let (trace, calls) = (self.trace_of(table, row)?, *calls.values.first()?.get(row)?);
            rows.push(CpuTime { trace, own: Duration::from_micros(*time), calls });
        }
        let total = Duration::from_micros(*own.total.first()?);
        self.profile.sections.push(CpuTimes { total, rows, ..CpuTimes::default() }.into());
        Some(())
    }

    fn sites(&mut self, table: &Table) -> Option<()> {
        let [live_bytes, live, bytes, objects] = &table.measures[..] else { return None };
        let mut rows = Vec::new();
        for row in 0..table.node.len() {
            let value = |of: &Measure| of.values.first()?.get(row).copied();
            let live = Amount { bytes: value(live_bytes)?, instances: value(live)? };
            let allocated = Amount { bytes: value(bytes)?, instances: value(objects)? };
            let name = self.name(u32::try_from(*table.object.get(row)?).ok()?)?;
            let (class, trace) = (self.profile.classes.named(name), self.trace_of(table, row)?);
            rows.push(Site { class, trace, live, allocated, ..Site::default() });
        }
        let total = |of: &Measure| of.total.first().copied();
        let live = Amount { bytes: total(live_bytes)?, instances: total(live)? };
        let allocated = Amount { bytes: total(bytes)?, instances: total(objects)? };
        self.profile.sections.push(Sites { live, allocated, rows, ..Sites::default() }.into());
        Some(())
    }

    fn monitors(&mut self, table: &Table) -> Option<()> {
        let [time, hits] = &table.measures[..] else { return None };
        let mut rows = Vec::new();
        for (row, micros) in time.values.first()?.iter().enumerate() {
            let name = self.object(*table.object.get(row)?)?.to_owned();
            rows.push(MonitorTime {
                monitor: self.monitor(&name),
                trace: self.trace_of(table, row)?,
                hits: *hits.values.first()?.get(row)?,
                time: Duration::from_micros(*micros),
            });
        }
        let total = Duration::from_micros(*time.total.first()?);
        self.profile.sections.push(MonitorTimes { at: None, total, rows }.into());
        Some(())
    }

    /// Returns the monitor with this name on the page: `app.Lock@1f0`, or a raw one in quotation marks.
    fn monitor(&mut self, name: &str) -> Monitor {
        let of_object = name.rsplit_once('@');
        let of_object =
            of_object.and_then(|(class, id)| Some((class, u64::from_str_radix(id, 16).ok()?)));
        match of_object {
            Some((class, id)) => {
                Monitor::Java { object: ObjectId(id), class: self.profile.names.intern(class) }
            }
            None => {
                let name = self.profile.names.intern(name.trim_matches('"'));
                Monitor::Raw { id: ObjectId(0), name }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Input;

    /// Returns the page of a profile with a CPU sample each 10 ms, a parked thread, a site and a monitor.
    fn page() -> Vec<u8> {
        let mut profile = Profile { created: Time(7), ..Profile::default() };
        let lock = profile.names.intern("app.Lock");
        let method = profile.intern_method(["app.Main", "run", "", ""]);
        let frame = profile.frames.intern(Frame { method, line: Line::Number(3) });
        let serial = ThreadSerial(4);
        let name = profile.names.intern("</script>");
        let thread = Thread { serial, name, ended: true, ..Thread::default() };
        profile.threads.insert(serial, thread);
        let state = profile.state_frame(WallState::Parked);
        let trace = profile.traces.intern(serial, &[frame]);
        let parked = profile.traces.intern(serial, &[state, frame]);
        let rows = [trace, parked].map(|trace| CpuSample::new(trace, 5)).to_vec();
        let at = BucketSamples { bucket: 3, trace, samples: 5 };
        let timeline = Timeline { bucket: Duration::from_millis(20), rows: vec![at] };
        profile
            .sections
            .push(CpuSamples { total: 10, rows, timeline, ..CpuSamples::default() }.into());
        let class = profile.classes.named(lock);
        let live = Amount { bytes: 16, instances: 1 };
        let site = Site { class, trace, live, allocated: live, ..Site::default() };
        profile
            .sections
            .push(Sites { live, allocated: live, rows: vec![site], ..Sites::default() }.into());
        let monitor = Monitor::Java { object: ObjectId(0x1f), class: lock };
        let wait = MonitorTime { monitor, trace, hits: 2, time: Duration::from_millis(1) };
        profile.sections.push(MonitorTimes { total: wait.time, rows: vec![wait], at: None }.into());
        let interval = Some(Duration::from_millis(10));
        let recording = Recording { command: "java Main".into(), interval, ..Recording::default() };
        let input = Input {
            name: "a",
            profile: &profile,
            heap: None,
            problem: None,
            recording: Some(&recording),
        };
        let mut page = Vec::new();
        crate::write(&[input], &mut page).unwrap();
        page
    }

    fn error(page: &[u8]) -> String {
        crate::read(page).expect("a page").expect_err("an error")
    }

    #[test]
    fn page_is_read_as_the_profile_that_it_shows() {
        let (profile, recording) = crate::read(&page()).expect("a page").unwrap();
        assert_eq!(recording.unwrap().command, "java Main");
        assert_eq!((profile.created, profile.threads.len()), (Time(7), 1));
        let samples: Vec<_> = profile.cpu_samples().collect();
        let state = |section: &CpuSamples| profile.state_of(section.rows[0].trace).map(|it| it.0);
        assert_eq!(
            samples.iter().map(|of| state(of)).collect::<Vec<_>>(),
            [None, Some(WallState::Parked)]
        );
        assert_eq!(samples.iter().map(|of| of.rows[0].samples).collect::<Vec<_>>(), [5, 5]);
        assert_eq!(samples[0].interval, Some(Duration::from_millis(10)));
        let trace = profile.traces.get(samples[0].rows[0].trace).unwrap();
        assert_eq!((trace.thread, trace.frames.len()), (ThreadSerial(4), 1));
        let bucket = samples[0].timeline.rows[0];
        assert_eq!((bucket.bucket, bucket.samples), (3, 5));
        let site = profile.sites().next().unwrap().rows[0];
        assert_eq!((&*profile.site_type(&site), site.live.bytes), ("app.Lock", 16));
        let wait = profile.monitor_times().next().unwrap().rows[0];
        assert!(matches!(wait.monitor, Monitor::Java { object: ObjectId(0x1f), .. }));
    }

    #[test]
    fn page_of_another_version_is_refused_in_a_line() {
        let page = String::from_utf8(page()).unwrap();
        let newer = page.replacen("\"version\":1,", "\"version\":2,", 1);
        let expected = "this page has version 2 of its data, but this jvmpi reads version 1";
        assert_eq!(error(newer.as_bytes()), expected);
        let older = page.replacen("\"schema\":\"jvmpi-report\",", "", 1);
        assert!(error(older.as_bytes()).contains("names no schema"));
    }

    #[test]
    fn damaged_page_is_an_error() {
        let page = String::from_utf8(page()).unwrap();
        for (whole, damaged) in [
            // The first number is 99 now.
            ("\"node\":\"", "\"node\":\"sM"),
            ("\"parent\":\"", "\"parent\":\"sM"),
            ("\"threads\":", "\"t\":"),
        ] {
            assert!(page.contains(whole), "{whole}");
            let error = error(page.replacen(whole, damaged, 1).as_bytes());
            assert!(
                error.starts_with("the data of this page is damaged: ") && !error.contains('\n')
            );
        }
        assert!(crate::read(b"JAVA PROFILE 1.0.1").is_none());
    }
}

//! The hottest methods, lines or threads.

use jvmpi_formats::profile::{
    CpuSample, Line, Method, NameId, Profile, TraceSerial, Type, printable, without_address,
};
use std::collections::{HashMap, HashSet};

/// The numbers of samples of each trace, since the last look and in all.
#[derive(Debug, Default)]
pub struct Table {
    traces: HashMap<TraceSerial, Samples>,
    /// All samples.
    pub all: u64,
    /// The samples since the look before.
    pub new: u64,
    /// The rows, hottest first.
    rows: Vec<Row>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Samples {
    all: u64,
    /// Since the look before.
    new: u64,
}

/// A method, a line or a thread. The first two numbers are of the time since the last look.
#[derive(Clone, Debug, Default)]
struct Row {
    /// The samples in which it was executed.
    own: u64,
    /// The samples in which it was executed or had called what was.
    total: u64,
    /// The samples in which it was executed, since the beginning.
    own_in_all: u64,
    name: String,
}

/// The rows that the user wants to see.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The things that rows stand for.
    pub of: Of,
    /// True for the order by total time, false for the order by own time.
    pub by_total: bool,
    /// A part of the names, in capitals or not.
    pub filter: String,
    /// The number of rows that are above the screen.
    pub above: usize,
}

/// The things that rows can stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Of {
    #[default]
    Methods,
    Lines,
    Threads,
}

/// Distinguishes rows: the name as it is shown, and the descriptor of the method, which is shown if there are others
/// of the same name.
type Key<'a> = (String, &'a str);

impl Table {
    /// Takes note of the samples of now.
    pub fn look(&mut self, samples: &[CpuSample]) {
        let before = std::mem::take(&mut self.traces);
        for sample in samples {
            let then = before.get(&sample.trace).map_or(0, |samples| samples.all);
            let new = sample.samples.saturating_sub(then);
            self.traces.insert(sample.trace, Samples { all: sample.samples, new });
        }
        self.all = self.traces.values().map(|samples| samples.all).sum();
        self.new = self.traces.values().map(|samples| samples.new).sum();
    }

    /// Makes the rows of a view.
    pub fn arrange(&mut self, profile: &Profile, view: &View) {
        let mut rows: HashMap<Key<'_>, Row> = HashMap::new();
        for (trace, samples) in &self.traces {
            let mut stack = keys(profile, *trace, view.of);
            if let Some(innermost) = stack.first() {
                let row = rows.entry(innermost.clone()).or_default();
                row.own += samples.new;
                row.own_in_all += samples.all;
            }
            // A method that calls itself counts once.
            stack.sort();
            stack.dedup();
            for key in stack {
                rows.entry(key).or_default().total += samples.new;
            }
        }
        let (mut names, mut overloaded) = (HashSet::new(), HashSet::new());
        for (name, _) in rows.keys() {
            if !names.insert(name.as_str()) {
                overloaded.insert(name.clone());
            }
        }
        drop(names);
        let named = rows.into_iter().map(|((name, descriptor), row)| {
            let parameters = overloaded.contains(&name).then(|| parameters(descriptor));
            let name = format!("{name}{}", parameters.unwrap_or_default());
            Row { name: printable(&name).into_owned(), ..row }
        });
        let filter = view.filter.to_lowercase();
        let is_wanted = |row: &Row| row.total > 0 && row.name.to_lowercase().contains(&filter);
        self.rows = named.filter(is_wanted).collect();
        self.rows.sort_by_cached_key(|row| {
            let (own, total) = (u64::MAX - row.own, u64::MAX - row.total);
            let first = if view.by_total { (total, own) } else { (own, total) };
            (first, u64::MAX - row.own_in_all, row.name.clone())
        });
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the heading and at most `most` rows as text. They are what was found on a stack since the last look, or
    /// ever if it is the first.
    pub fn lines(&self, view: &View, most: usize) -> Vec<String> {
        let share = |part: u64, of: u64| {
            if of == 0 { 0.0 } else { 100.0 * part as f64 / of as f64 }
        };
        let what = match view.of {
            Of::Methods => "method",
            Of::Lines => "line",
            Of::Threads => "thread",
        };
        let mut lines = vec![format!("   self   total  so far  {what}")];
        lines.extend(self.rows.iter().skip(view.above).take(most).map(|row| {
            let (own, total) = (share(row.own, self.new), share(row.total, self.new));
            let so_far = share(row.own_in_all, self.all);
            format!("{own:6.1}% {total:6.1}% {so_far:6.1}%  {}", row.name)
        }));
        lines
    }
}

/// Returns what a trace adds to, the innermost first.
fn keys(profile: &Profile, trace: TraceSerial, of: Of) -> Vec<Key<'_>> {
    // Samples of elapsed time begin with the state of the thread.
    let state = profile.state_of(trace).map(|(_, stack)| profile.traces.path(stack));
    let frames = state.unwrap_or_else(|| profile.traces.frames_of(trace));
    if of == Of::Threads {
        let thread = profile.traces.get(trace).and_then(|trace| profile.threads.get(&trace.thread));
        if let Some(thread) = thread {
            return vec![(profile.names.get(thread.name).to_owned(), "")];
        }
        // Time of the VM's own threads is one frame.
        let outermost = frames.iter().last().and_then(|frame| profile.frame(frame));
        return outermost.map(|(_, method)| (name(profile, method), "")).into_iter().collect();
    }
    let keys = frames.iter().filter_map(|frame| {
        let (frame, method) = profile.frame(frame)?;
        let name = name(profile, method);
        match frame.line {
            Line::Number(line) if of == Of::Lines => Some((format!("{name}:{line}"), "")),
            _ => Some((name, profile.names.get(method.signature))),
        }
    });
    keys.collect()
}

/// Returns the name of a method with its class. Those of hidden classes are the same in each run.
fn name(profile: &Profile, method: Method) -> String {
    let class = without_address(profile.names.get(method.class));
    let name = profile.names.get(method.name);
    if method.class == NameId::EMPTY { name.to_owned() } else { format!("{class}.{name}") }
}

/// Returns the parameters of a method as in Java, without packages: `(int, String[])` for `(I[Ljava/lang/String;)V`.
fn parameters(descriptor: &str) -> String {
    let inside = descriptor.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let Some((mut rest, _)) = inside else { return descriptor.to_owned() };
    let mut all = Vec::new();
    while let Some(kind) = rest.trim_start_matches('[').chars().next() {
        let of = rest.trim_start_matches('[');
        let dimensions = rest.len() - of.len();
        let (name, behind) = match kind {
            'L' => {
                let (class, behind) = of.split_once(';').unwrap_or((of, ""));
                (class[1..].rsplit('/').next().unwrap_or(class), behind)
            }
            kind => {
                let primitive = u8::try_from(kind).ok().and_then(Type::of_descriptor);
                (primitive.map_or("?", Type::name), &of[kind.len_utf8()..])
            }
        };
        all.push(format!("{name}{}", "[]".repeat(dimensions)));
        rest = behind;
    }
    format!("({})", all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jvmpi_formats::profile::{Frame, ObjectId, Thread, ThreadSerial};

    /// Returns a profile with these stacks of a thread, innermost method first, and their samples. A method is a name
    /// and a descriptor; its line is the length of the name.
    fn profile(stacks: &[(&[&str], u64)]) -> (Profile, Vec<CpuSample>) {
        let mut profile = Profile::default();
        let serial = ThreadSerial(1);
        let name = profile.names.intern("worker");
        let thread = Thread {
            serial,
            object: ObjectId(0),
            name,
            group: NameId::EMPTY,
            parent_group: NameId::EMPTY,
            trace: TraceSerial(0),
            started: None,
            ended: false,
        };
        profile.threads.insert(serial, thread);
        let mut rows = Vec::new();
        for (stack, samples) in stacks {
            let mut frames = Vec::new();
            for method in *stack {
                let (name, descriptor) = method.split_at(method.find('(').unwrap_or(method.len()));
                let [class, name, signature] =
                    ["Main$$Lambda/0x12", name, descriptor].map(|name| profile.names.intern(name));
                let method = Method { class, name, signature, ..Method::default() };
                let line = Line::Number(profile.names.get(method.name).len() as u32);
                let method = profile.methods.intern(method);
                frames.push(profile.frames.intern(Frame { method, line }));
            }
            let trace = profile.traces.intern(serial, &frames);
            rows.push(CpuSample { trace, samples: *samples, hits: *samples });
        }
        (profile, rows)
    }

    fn shown(table: &mut Table, profile: &Profile, view: &View) -> Vec<String> {
        table.arrange(profile, view);
        table.lines(view, 9)[1..].iter().map(|line| line.replace("Main$$Lambda.", "")).collect()
    }

    #[test]
    fn methods_have_what_has_come_since_the_last_look() {
        let (mut table, mut view) = (Table::default(), View::default());
        let (first, rows) = profile(&[(&["a", "main"], 6), (&["b", "b", "main"], 4)]);
        table.look(&rows);
        assert_eq!(
            shown(&mut table, &first, &view),
            [
                "  60.0%   60.0%   60.0%  a",
                "  40.0%   40.0%   40.0%  b",
                "   0.0%  100.0%    0.0%  main",
            ]
        );
        let (second, rows) = profile(&[(&["a", "main"], 11), (&["b", "b", "main"], 14)]);
        table.look(&rows);
        view.by_total = true;
        let all = shown(&mut table, &second, &view);
        assert_eq!(all[..2], ["   0.0%  100.0%    0.0%  main", "  66.7%   66.7%   56.0%  b"]);
        assert_eq!((table.new, table.all), (15, 25));
        view.above = 1;
        assert_eq!(shown(&mut table, &second, &view), all[1..]);
        view = View { filter: "lambda.M".into(), ..View::default() };
        assert_eq!(shown(&mut table, &second, &view).len(), 1);
    }

    #[test]
    fn overloads_have_their_parameters_lines_and_threads_their_own_rows() {
        let (mut table, mut view) = (Table::default(), View::default());
        let stacks: &[(&[&str], u64)] =
            &[(&["a(I[[Ljava/lang/String;)V", "main()V"], 6), (&["a()V", "main()V"], 4)];
        let (profile, rows) = profile(stacks);
        table.look(&rows);
        let names = |rows: Vec<String>| -> Vec<String> {
            rows.iter().map(|row| row.split("%  ").last().unwrap().to_owned()).collect()
        };
        let methods = names(shown(&mut table, &profile, &view));
        assert_eq!(methods, ["a(int, String[][])", "a()", "main"]);
        view.of = Of::Lines;
        assert_eq!(names(shown(&mut table, &profile, &view)), ["a:1", "main:4"]);
        view.of = Of::Threads;
        let threads = shown(&mut table, &profile, &view);
        assert_eq!(threads, [" 100.0%  100.0%  100.0%  worker"]);
    }
}

//! The hottest methods.

use jvmpi_formats::profile::{CpuSample, Frame, MethodId, Profile, TraceSerial, printable};
use std::collections::HashMap;

/// The numbers of samples that found each method, since the last look and in all.
#[derive(Debug, Default)]
pub struct Table {
    /// The samples of each trace at the last look.
    before: HashMap<TraceSerial, u64>,
    /// All samples, and those since the look before.
    pub all: u64,
    /// The samples since the look before.
    pub new: u64,
    /// The methods, hottest first.
    pub rows: Vec<Row>,
}

/// A method. The first two numbers are of the time since the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The samples in which it was executed.
    pub own: u64,
    /// The samples in which it was executed or had called what was.
    pub total: u64,
    /// The samples in which it was executed, since the beginning.
    pub own_in_all: u64,
    /// With its class.
    pub name: String,
}

/// The order of the methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By the time that they have consumed themselves.
    Own,
    /// By that time and the time of the methods they called.
    Total,
}

impl Table {
    /// Takes note of the samples of now.
    pub fn look(&mut self, profile: &Profile, samples: &[CpuSample], order: Order) {
        let mut methods: HashMap<MethodId, Row> = HashMap::new();
        let (mut all, mut new) = (0, 0);
        let mut before = HashMap::new();
        for sample in samples {
            let frames = profile.traces.frames_of(sample.trace);
            let mut stack = frames.iter().filter_map(|id| profile.frames.get(id));
            let mut stack: Vec<_> = stack.by_ref().map(|Frame { method, .. }| method).collect();
            let since =
                sample.samples.saturating_sub(self.before.get(&sample.trace).copied().unwrap_or(0));
            before.insert(sample.trace, sample.samples);
            all += sample.samples;
            new += since;
            if let Some(innermost) = stack.first() {
                let row = methods.entry(*innermost).or_default();
                row.own += since;
                row.own_in_all += sample.samples;
            }
            // A method that calls itself counts once.
            stack.sort();
            stack.dedup();
            for method in stack {
                methods.entry(method).or_default().total += since;
            }
        }
        (self.before, self.all, self.new) = (before, all, new);
        self.rows =
            methods.into_iter().map(|(id, row)| Row { name: name(profile, id), ..row }).collect();
        self.sort(order);
    }

    /// Changes the order.
    pub fn sort(&mut self, order: Order) {
        self.rows.sort_by(|a, b| {
            let (first, second) = match order {
                Order::Own => ((b.own, b.total), (a.own, a.total)),
                Order::Total => ((b.total, b.own), (a.total, a.own)),
            };
            first
                .cmp(&second)
                .then(b.own_in_all.cmp(&a.own_in_all))
                .then_with(|| a.name.cmp(&b.name))
        });
    }

    /// Returns the table as text, with at most `most` methods. They are the methods found on a stack
    /// since the last look, or ever if it is the first.
    pub fn lines(&self, most: usize) -> Vec<String> {
        let share = |part: u64, of: u64| {
            if of == 0 { 0.0 } else { 100.0 * part as f64 / of as f64 }
        };
        let mut lines = vec!["   self   total  so far  method".to_owned()];
        lines.extend(self.rows.iter().filter(|row| row.total > 0).take(most).map(|row| {
            let (own, total) = (share(row.own, self.new), share(row.total, self.new));
            let so_far = share(row.own_in_all, self.all);
            format!("{own:6.1}% {total:6.1}% {so_far:6.1}%  {}", row.name)
        }));
        lines
    }
}

fn name(profile: &Profile, id: MethodId) -> String {
    let method = profile.methods.get(id).unwrap_or_default();
    printable(&profile.qualified(method)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jvmpi_formats::profile::{Line, Method, ThreadSerial};

    /// Returns a profile with these stacks, innermost method first, and their samples.
    fn profile(stacks: &[(&[&str], u64)]) -> (Profile, Vec<CpuSample>) {
        let mut profile = Profile::default();
        let mut rows = Vec::new();
        for (stack, samples) in stacks {
            let mut frames = Vec::new();
            for name in *stack {
                let class = profile.names.intern("Main");
                let name = profile.names.intern(name);
                let method = profile.methods.intern(Method { class, name, ..Method::default() });
                frames.push(profile.frames.intern(Frame { method, line: Line::Unknown }));
            }
            let trace = profile.traces.intern(ThreadSerial(0), &frames);
            rows.push(CpuSample { trace, samples: *samples, hits: *samples });
        }
        (profile, rows)
    }

    #[test]
    fn methods_have_what_has_come_since_the_last_look() {
        let mut table = Table::default();
        let (first, rows) = profile(&[(&["a", "main"], 6), (&["b", "b", "main"], 4)]);
        table.look(&first, &rows, Order::Own);
        assert_eq!(
            table.lines(9),
            [
                "   self   total  so far  method",
                "  60.0%   60.0%   60.0%  Main.a",
                "  40.0%   40.0%   40.0%  Main.b",
                "   0.0%  100.0%    0.0%  Main.main",
            ]
        );
        let (second, rows) = profile(&[(&["a", "main"], 11), (&["b", "b", "main"], 14)]);
        table.look(&second, &rows, Order::Total);
        assert_eq!(
            table.lines(2)[1..],
            ["   0.0%  100.0%    0.0%  Main.main", "  66.7%   66.7%   56.0%  Main.b"]
        );
        assert_eq!((table.new, table.all), (15, 25));
    }
}

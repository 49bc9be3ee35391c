//! Names, methods, frames, and the stacks as one tree for all profiles.

use indexmap::{IndexMap, IndexSet};
use jvmpi_formats::profile::{FrameId, Names, Profile, StackId, Traces, without_address};
use rustc_hash::{FxBuildHasher, FxHashMap};
use serde::{Deserialize, Serialize};

use super::column;

/// A table of strings, each once.
#[derive(Default)]
pub(super) struct Strings {
    /// True if names of hidden classes are replaced by those that are the same in each run.
    in_any_run: bool,
    strings: Names,
}

impl Strings {
    /// Creates an empty table for the profiles of this number of runs.
    pub(super) fn of_runs(runs: usize) -> Strings {
        Strings { in_any_run: runs > 1, ..Strings::default() }
    }

    /// Returns the number of a class's name, which is the same for one class in several runs.
    pub(super) fn class(&mut self, name: &str) -> u32 {
        self.number(if self.in_any_run { without_address(name) } else { name })
    }

    pub(super) fn number(&mut self, string: &str) -> u32 {
        self.strings.intern(string).0
    }
}

impl From<Strings> for Vec<String> {
    fn from(strings: Strings) -> Vec<String> {
        strings.strings.iter().map(str::to_owned).collect()
    }
}

/// The methods of all profiles, their frames, and the tree of their stacks.
///
/// Overloaded methods are one, because text profiles do not distinguish them.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Code {
    pub(super) methods: Methods,
    pub(super) frames: Frames,
    pub(super) nodes: Tree,
}

#[derive(Default, Serialize, Deserialize)]
pub(super) struct Methods {
    pub(super) class: Vec<u32>,
    pub(super) name: Vec<u32>,
    pub(super) source: Vec<u32>,
}

#[derive(Default, Serialize, Deserialize)]
pub(super) struct Frames {
    pub(super) method: Vec<u32>,
    /// The line with JVMPI's codes: −1 unknown, −2 compiled, −3 native.
    pub(super) line: Vec<i32>,
}

/// Each node is a frame that was called by its parent, which comes before it. Node 0 is below all stacks.
#[derive(Serialize, Deserialize)]
pub(super) struct Tree {
    #[serde(with = "column")]
    pub(super) parent: Vec<u32>,
    #[serde(with = "column")]
    pub(super) frame: Vec<u32>,
}

impl Default for Tree {
    fn default() -> Tree {
        Tree { parent: vec![0], frame: vec![0] }
    }
}

/// [`Code`] that is being built.
#[derive(Default)]
pub(super) struct Nodes {
    /// The sources of methods by class and name.
    methods: IndexMap<(u32, u32), u32, FxBuildHasher>,
    /// The methods and lines of frames.
    frames: IndexSet<(u32, i32), FxBuildHasher>,
    /// The tree: a stack's number is that of its node.
    pub(super) tree: Traces,
    /// The frames of each profile; None if its method is unknown.
    of_profile: FxHashMap<(usize, FrameId), Option<u32>>,
    /// The nodes of each profile's stacks, by the place of the stack; 0 if it was not asked for.
    stacks: Vec<Vec<u32>>,
}

impl From<Nodes> for Code {
    fn from(Nodes { methods, frames, tree, .. }: Nodes) -> Code {
        let calls = (0..tree.stacks() as u32).map(|node| tree.call(StackId(node)));
        let (frame, parent) = calls.map(|call| call.map_or((0, 0), |it| (it.0.0, it.1.0))).unzip();
        let mut code = Code { nodes: Tree { parent, frame }, ..Code::default() };
        for ((class, name), source) in methods {
            code.methods.class.push(class);
            code.methods.name.push(name);
            code.methods.source.push(source);
        }
        (code.frames.method, code.frames.line) = frames.into_iter().unzip();
        code
    }
}

impl Nodes {
    /// Returns the node of a stack's innermost frame, or 0 for an empty or unknown stack.
    pub(super) fn of_stack(
        &mut self,
        strings: &mut Strings,
        number: usize,
        profile: &Profile,
        mut stack: StackId,
    ) -> u32 {
        let traces = &profile.traces;
        while self.stacks.len() <= number {
            self.stacks.push(Vec::new());
        }
        let mut stacks = std::mem::take(&mut self.stacks[number]);
        stacks.resize(traces.stacks(), 0);
        // Walks from the innermost frame to the first stack that has a node, and back.
        let mut without_node = Vec::new();
        let mut node = loop {
            let Some((frame, caller)) = traces.call(stack) else { break 0 };
            match stacks[stack.0 as usize] {
                0 => {}
                node => break node,
            }
            without_node.push((stack, frame));
            stack = caller;
        };
        for (stack, frame) in without_node.into_iter().rev() {
            let known = self.of_profile.get(&(number, frame)).copied();
            let frame = known.unwrap_or_else(|| self.learn(strings, number, profile, frame));
            if let Some(frame) = frame {
                node = self.tree.push(StackId(node), FrameId(frame)).0;
            }
            stacks[stack.0 as usize] = node;
        }
        self.stacks[number] = stacks;
        node
    }

    fn learn(
        &mut self,
        strings: &mut Strings,
        number: usize,
        profile: &Profile,
        id: FrameId,
    ) -> Option<u32> {
        let frame = profile.frame(id).map(|(frame, method)| {
            let class = strings.class(profile.names.get(method.class));
            let [name, source] =
                [method.name, method.source].map(|name| strings.number(profile.names.get(name)));
            let method = self.methods.entry((class, name));
            let row = method.index() as u32;
            method.or_insert(source);
            self.frames.insert_full((row, frame.line.code())).0 as u32
        });
        self.of_profile.insert((number, id), frame);
        frame
    }
}

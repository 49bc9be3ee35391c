//! Programs that once hung or crashed the JVM, to be run many times and in many settings.

use crate::jdk::{Gc, Jdk};
use crate::run::{Launch, Vm};
use crate::spinning::Spinning;
use crate::{build, text};

/// One of these programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// A sampler suspends threads that are in `malloc`.
    Malloc,
    /// A sampler starts while objects are announced, and the threads that it needs start late.
    Start,
    /// Dumps are requested beside threads in JNI critical sections, with a nearly full heap.
    Dumps,
    /// Dumps and existing objects are requested while virtual threads are started.
    Virtual,
}

/// A setting in which a program runs.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The JVM.
    pub jdk: &'a Jdk,
    /// Its collector.
    pub gc: Gc,
    /// True if the JVM has one processor, false if it has all.
    pub has_one_processor: bool,
    /// True if `malloc` has one arena, and so one lock.
    pub has_one_arena: bool,
    /// True if other processes spin.
    pub is_busy: bool,
}

impl Program {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Malloc, Self::Start, Self::Dumps, Self::Virtual];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Malloc => "malloc",
            Self::Start => "start",
            Self::Dumps => "dumps",
            Self::Virtual => "virtual",
        }
    }

    /// Returns true if the JDK can run it.
    #[must_use]
    pub fn runs_on(self, jdk: &Jdk) -> bool {
        self != Self::Virtual || jdk.feature >= 21
    }

    /// Runs the program once.
    ///
    /// # Errors
    /// Returns the way in which the run failed (a hang, a crash or a wrong result) and the folder of its files.
    pub fn run(self, setting: &Setting<'_>, case: &str) -> Result<(), String> {
        let vm = Vm::new(setting.jdk, setting.gc, case);
        let mut launch = self.launch(&vm)?;
        if setting.has_one_processor {
            launch = launch.on_one_processor()?;
        }
        if setting.has_one_arena {
            launch = launch.variable("MALLOC_ARENA_MAX", "1");
        }
        let _spinning = setting.is_busy.then(Spinning::start).transpose()?;
        let files = launch.directory().display().to_string();
        launch.run().map(drop).map_err(|why| format!("{why}\n  files: {files}"))
    }

    fn launch(self, vm: &Vm<'_>) -> Result<Launch, String> {
        let sampler = build::agent("sampler")?;
        let sampler = format!("{}:interval=1,out=samples.txt", text(&sampler)?);
        match self {
            Self::Malloc => {
                vm.java("NativeMemory")?.argument("100000").shim(&format!("{sampler},looks=100"))
            }
            Self::Start => {
                let java = vm.java("Sampled")?.jvmti_agent("delay", "")?;
                java.agent("checker", "mode=all")?.shim(&sampler)
            }
            Self::Dumps => {
                let java = vm.java("CriticalSections")?.argument("10");
                let java = java.agent("dump_requests", "")?;
                Ok(java.flag("-Xmx24m").flag("-Xmn1m"))
            }
            Self::Virtual => {
                let java = vm.java_for(21, "VirtualStarts")?.argument("5");
                java.agent("dump_requests", "")
            }
        }
    }
}

//! A running JVM, as the user names it.

pub use crate::platform::process::Process;
use jvmpi_cpu_timeout::CpuTimeout;
use std::time::Duration;

impl Process {
    /// Returns a timeout of this much time of the process, to wait for something that it does.
    pub fn patience(&self, time: Duration) -> CpuTimeout {
        CpuTimeout::new(time, vec![self.number().unsigned_abs()])
    }

    /// Returns the JVM with this process ID, or the only one with this text in its main class or the name of its JAR file.
    ///
    /// # Errors
    /// Returns an error if there is none, or if there are several, with their numbers.
    pub fn find(text: &str) -> Result<Self, String> {
        if let Ok(number) = text.parse() {
            return Self::jvm(number);
        }
        let named = Self::jvms().filter_map(|jvm| Some((jvm.program()?, jvm)));
        let mut found: Vec<_> = named.filter(|(program, _)| is_part(text, program)).collect();
        // A whole name is no part of others.
        if found.iter().any(|(program, _)| is_name(text, program)) {
            found.retain(|(program, _)| is_name(text, program));
        }
        if found.len() < 2 {
            let none =
                || format!("no running JVM has {text} in its name: list them with jvmpi list");
            return found.pop().map(|(_, jvm)| jvm).ok_or_else(none);
        }
        let all: Vec<_> = found.iter().map(|(program, jvm)| format!("{jvm} {program}")).collect();
        Err(format!("{text} fits several JVMs ({}): give the number of one", all.join(", ")))
    }
}

/// Returns true if the name of a program contains this text, in capitals or not.
fn is_part(text: &str, program: &str) -> bool {
    program.to_lowercase().contains(&text.to_lowercase())
}

/// Returns true if this is the name of a program, without its package or the end of a file's name.
fn is_name(text: &str, program: &str) -> bool {
    let class = program.rsplit('.').next().unwrap_or(program);
    [program, class, program.trim_end_matches(".jar")].contains(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_name_is_told_from_a_part() {
        assert!(is_part("tomcat", "org.apache.Tomcat") && !is_part("jetty", "org.apache.Tomcat"));
        for (text, program, is_whole) in [
            ("Main", "org.app.Main", true),
            ("org.app.Main", "org.app.Main", true),
            ("shop", "shop.jar", true),
            ("Main", "org.app.MainWindow", false),
        ] {
            assert_eq!(is_name(text, program), is_whole, "{text} {program}");
        }
    }
}

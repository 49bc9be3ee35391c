//! `cargo +nightly fuzz run options`: no value of JVMPI_OPTIONS, no configuration and no options of an agent
//! make their reader panic. What is refused is refused in one line, and what is printed of settings means
//! the same again.

#![no_main]

use jvmpi_settings::Options;
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|parts: (&str, &str, &str)| {
    let (environment, config, agent_options) = parts;
    if let Ok(options) = Options::parse(environment, None) {
        let again = Options::parse(&options.describe(), None).unwrap();
        assert_eq!(again.describe(), options.describe());
    }
    match Options::parse(environment, Some((Path::new("/etc/jvmpi.toml"), config))) {
        Ok(options) => {
            let _ = options.describe();
            let _ = options.agent("/opt/libfoo.so", agent_options);
            let _ = options.describe_quirks("/opt/libhprof.so", agent_options);
        }
        Err(error) => assert!(!error.to_string().contains(char::is_control)),
    }
});

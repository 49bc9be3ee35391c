//! A pointer of each thread, which events read.

thread_local_word::thread_local_word!("jvmpi_current");

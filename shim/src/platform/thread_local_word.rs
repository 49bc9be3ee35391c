//! A pointer of each thread, which events read.

trace::thread_local_word!("jvmpi_current");

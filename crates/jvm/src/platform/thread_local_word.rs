//! A pointer of each thread, read by events.

crate::thread_local_word!("jvmpi_current");

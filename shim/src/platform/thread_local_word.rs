//! A pointer of each thread, read by events.

jvmpi_layers::thread_local_word!("jvmpi_current");

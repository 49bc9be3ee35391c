//! A pointer of each thread, which events read.

jvmpi_layers::thread_local_word!("jvmpi_current");

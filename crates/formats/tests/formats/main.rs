//! Tests of the formats' readers and writers. One program, which is compiled and linked faster than one for each file.

mod binary;
mod convert;
mod dump;
mod fixture;
mod jfr;
mod otlp;
mod round_trip;
mod stacks;
mod stream;
mod text;
mod visualvm;

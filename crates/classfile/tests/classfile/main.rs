//! Tests of reading and rewriting class files.

mod behaviour;
mod corpus;
mod methods;
mod mutations;
mod random_methods;
mod support;

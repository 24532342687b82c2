//! stub

pub mod tools;

//! stub
pub mod models;

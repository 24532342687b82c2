//! The conversation on disk: an append-only JSONL file whose entries form a tree.

pub mod entry;

pub use entry::Entry;

//! The binary as its users run it: real processes, files and connections, a scripted model.

#[cfg(test)]
mod bash_faults;
#[cfg(test)]
mod bed;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod clients;
#[cfg(test)]
mod compaction;
#[cfg(test)]
mod config;
#[cfg(test)]
mod demo;
#[cfg(test)]
mod export;
#[cfg(test)]
mod interop;
#[cfg(test)]
mod json;
#[cfg(test)]
mod json_tools;
#[cfg(test)]
mod print;
#[cfg(test)]
mod project;
#[cfg(test)]
mod retry;
#[cfg(test)]
mod rpc;
#[cfg(test)]
mod search;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod session_choice;
#[cfg(test)]
mod session_files;
#[cfg(test)]
mod session_fork;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod signals;
#[cfg(test)]
mod skills;

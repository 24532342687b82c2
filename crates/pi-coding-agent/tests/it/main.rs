//! The binary as its users run it: real processes, files and connections, a scripted model.

#[cfg(test)]
mod bed;
#[cfg(test)]
mod json;
#[cfg(test)]
mod json_tools;
#[cfg(test)]
mod print;
#[cfg(test)]
mod retry;
#[cfg(test)]
mod signals;

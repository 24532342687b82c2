//! Being told to stop.
//!
//! SIGTERM and SIGHUP end in order: the run is aborted, what it did is recorded, the exit code is
//! 143 or 129. SIGINT ends at once: children are killed, nothing more is recorded, and the process
//! dies by the signal itself so that a calling shell knows. Where nobody listens, signals do what
//! they do to any program: before and after a run, and a second SIGINT while a thread that hangs,
//! in a file system that is gone perhaps, has not come round to the first.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Why the process has to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    HangUp,
    Interrupt,
    Terminate,
}

impl Stop {
    /// Exit code for an orderly end: 128 plus the signal's number.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::HangUp => 129,
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }
}

/// The signals the modes listen to, as long as it lives.
#[derive(Debug)]
pub(crate) struct Signals {
    /// Tells the handlers, which stay for good, that nobody listens any more.
    is_over: Arc<AtomicBool>,
    hang_up: Signal,
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// To be called once in a process, as the end of one listener counts for all.
    ///
    /// # Errors
    /// The system refuses a handler.
    pub(crate) fn listen() -> io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, Arc::clone(&is_over))?;
        }
        // In this order: the first SIGINT finds the flag down and raises it.
        let is_interrupted = Arc::new(AtomicBool::new(false));
        flag::register_conditional_default(SIGINT, Arc::clone(&is_interrupted))?;
        flag::register(SIGINT, is_interrupted)?;
        Ok(Self {
            is_over,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) -> Stop {
        tokio::select! {
            _ = self.hang_up.recv() => Stop::HangUp,
            _ = self.interrupt.recv() => Stop::Interrupt,
            _ = self.terminate.recv() => Stop::Terminate,
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
    }
}

/// Ends the process by SIGINT as if nobody had listened to it. Comes back only where the system
/// refuses to restore the signal's default.
pub(crate) fn die_by_interrupt() -> Stop {
    // Refused or not, what is left to do is the same: to end with the signal's exit code.
    drop(low_level::emulate_default_handler(SIGINT));
    Stop::Interrupt
}

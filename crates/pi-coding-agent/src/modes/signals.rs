//! Being told to stop.
//!
//! SIGTERM and SIGHUP end in order: the run is aborted, what it did is recorded, the exit code is
//! 143 or 129. SIGINT ends at once: children are killed, nothing more is recorded, and the process
//! dies by the signal itself so that a calling shell knows.

use std::io;

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

/// The signals the modes listen to.
#[derive(Debug)]
pub(crate) struct Signals {
    hang_up: Signal,
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// # Errors
    /// The system refuses a handler.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
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

/// Ends the process by SIGINT as if nobody had listened to it. Comes back only where the system
/// refuses to restore the signal's default.
pub(crate) fn die_by_interrupt() -> Stop {
    // Refused or not, what is left to do is the same: to end with the signal's exit code.
    drop(signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGINT));
    Stop::Interrupt
}

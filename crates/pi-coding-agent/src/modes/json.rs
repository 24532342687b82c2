//! JSON mode: the session header, then every event, one JSON object a line.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use pi_agent::harness::SessionListener;
use pi_agent::session::Header;
use tokio_util::sync::CancellationToken;

use super::output::LineWriter;
use super::recorder::{Recorder, flush_briefly};
use super::{Ending, check_stored, drive};
use crate::error::{AppError, Context, ErrorKind};
use crate::session_runtime::{AgentSession, Prompt};

/// The stream of records on standard output.
#[derive(Debug)]
pub(crate) struct Records {
    writer: Arc<LineWriter>,
}

impl Records {
    /// Opens the stream and writes its first record.
    pub(crate) async fn begin(header: &Header) -> Self {
        let writer = LineWriter::to_standard_output();
        // A reader that is gone already shows again at the first event.
        writer.line(header).await.unwrap_or_default();
        Self { writer: Arc::new(writer) }
    }

    /// Runs the prompts, every event a record. A failed answer is in the records and no failure of
    /// the process; a signal is, with 128 plus its number.
    ///
    /// # Errors
    /// A run could not start, or something could not be stored or written.
    pub(crate) async fn run(
        self,
        session: &AgentSession,
        prompts: Vec<Prompt>,
    ) -> Result<ExitCode, AppError> {
        let recorder = Arc::new(Recorder::new(
            Arc::clone(&self.writer),
            session.clone(),
            CancellationToken::new(),
        ));
        let listener: Arc<dyn SessionListener> = Arc::<Recorder>::clone(&recorder);
        let subscription = session.subscribe(listener);
        let ending = drive(session, prompts, recorder.as_ref()).await;
        session.unsubscribe(subscription);
        drop(recorder);
        match ending {
            Ok(Ending::Settled(outcome)) => {
                self.end()?;
                check_stored(outcome)?;
                Ok(ExitCode::SUCCESS)
            }
            Ok(Ending::Stopped(stop)) => {
                flush_briefly(&self.writer).await;
                Ok(ExitCode::from(stop.exit_code()))
            }
            Err(error) => {
                // Why the run broke off matters more than why its records did.
                self.end().unwrap_or_default();
                Err(error)
            }
        }
    }

    /// Writes what is queued.
    ///
    /// # Errors
    /// Writing failed, other than by a reader that left.
    pub(crate) fn end(self) -> Result<(), AppError> {
        let Some(writer) = Arc::into_inner(self.writer) else { return Ok(()) };
        match writer.close() {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result.context(ErrorKind::Internal, || "Cannot write the events".to_owned()),
        }
    }
}

//! Tells whether what a command started still lives, without polling and without process ids.

use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};

use crate::program::patiently;

/// A connection a command of `bash` opens and all its descendants inherit. It closes when the last
/// of them is gone.
#[derive(Debug)]
pub struct Lifeline {
    listener: TcpListener,
    connection: Option<TcpStream>,
}

impl Lifeline {
    #[expect(clippy::expect_used, reason = "without a loopback port no test can run")]
    pub async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
        Self { listener, connection: None }
    }

    /// Shell text that takes hold of the line.
    #[expect(clippy::expect_used, reason = "a bound port has an address")]
    pub fn hold(&self) -> String {
        let port = self.listener.local_addr().expect("the address of the port").port();
        format!("exec 9<>/dev/tcp/127.0.0.1/{port}")
    }

    /// Waits until a command holds the line.
    #[expect(clippy::expect_used, reason = "a broken listener fails the test")]
    pub async fn held(&mut self) {
        let accepted = patiently("a command that holds the line", self.listener.accept()).await;
        self.connection = Some(accepted.expect("a connection").0);
    }

    /// Waits until nobody holds it any more.
    #[expect(clippy::expect_used, reason = "waiting for the end of what never began is a mistake")]
    pub async fn released(&mut self) {
        let connection = self.connection.as_mut().expect("a command held the line");
        let end = async {
            let mut byte = [0];
            // An error is an end as well: the last holder is gone.
            while connection.read(&mut byte).await.is_ok_and(|count| count > 0) {}
        };
        patiently("the last process of the command", end).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Program, Scratch, Signal};

    #[tokio::test]
    async fn the_line_is_held_by_descendants_until_the_last_is_gone() {
        let scratch = Scratch::new().unwrap();
        let mut line = Lifeline::new().await;
        let command = format!("{}; sleep 1000 & echo $!; exit", line.hold());
        let mut shell = Program::new("bash", &scratch).args(["-c", &command]).start();
        line.held().await;
        let sleeper = shell.line_with("").await.trim().parse().unwrap();
        let sleeper = rustix::process::Pid::from_raw(sleeper).unwrap();
        rustix::process::kill_process(sleeper, Signal::KILL).unwrap();
        line.released().await;
        assert_eq!(shell.end().await.code, Some(0));
    }
}

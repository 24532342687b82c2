//! A loopback server that plays scripted answers in the wire formats of real providers.
//!
//! The format follows from the path of the request: `…/messages` is Anthropic's, and
//! `…/chat/completions` is OpenAI's. Each request is checked as the vendor would check it; a bad
//! one is answered 400 and fails the test when the server goes out of scope.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

mod anthropic;
mod check;
mod completions;
mod delivery;
mod http;
mod reply;
#[cfg(test)]
mod tests;
mod turn;

pub use http::Request;
pub use reply::Reply;
pub use turn::{Block, Stop, Tokens, Turn};

/// The running server; dropping it stops it and fails the test if a request was bad.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

struct Shared {
    checks: bool,
    state: Mutex<State>,
    progress: watch::Sender<Progress>,
}

#[derive(Default)]
struct State {
    script: VecDeque<Reply>,
    always: Option<Arc<Respond>>,
    requests: Vec<Request>,
    faults: Vec<String>,
}

type Respond = dyn Fn(&Request) -> Reply + Send + Sync;

/// Counters a test can wait for.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    connections: usize,
    requests: usize,
    /// Answers the client left before their end.
    abandoned: usize,
}

impl ModelServer {
    /// Starts on a free port and answers the requests with `replies`, in order.
    pub async fn start<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> Self {
        Self::launch(true, replies).await
    }

    /// The same without checks, for requests in a format of the test's own.
    pub async fn start_unchecked<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> Self {
        Self::launch(false, replies).await
    }

    #[expect(clippy::expect_used, reason = "without a loopback port no test can run")]
    async fn launch<R: Into<Reply>>(checks: bool, replies: impl IntoIterator<Item = R>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
        let address = listener.local_addr().expect("the address of the port");
        let script = replies.into_iter().map(Into::into).collect();
        let shared = Arc::new(Shared {
            checks,
            state: Mutex::new(State { script, ..State::default() }),
            progress: watch::Sender::new(Progress::default()),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { address, shared, accepting }
    }

    /// `http://127.0.0.1:<port>`, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Adds an answer to the end of the script.
    pub fn push(&self, reply: impl Into<Reply>) {
        self.shared.lock().script.push_back(reply.into());
    }

    /// Answers whatever comes after the script.
    pub fn always(&self, respond: impl Fn(&Request) -> Reply + Send + Sync + 'static) {
        self.shared.lock().always = Some(Arc::new(respond));
    }

    /// Every request so far, oldest first.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().requests.clone()
    }

    /// How many connections clients have opened.
    pub fn connections(&self) -> usize {
        self.shared.progress.borrow().connections
    }

    /// What was wrong with the requests so far. Reading them takes them off the record.
    pub fn take_faults(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.lock().faults)
    }

    /// Waits until this many requests have arrived.
    pub async fn wait_for_requests(&self, count: usize) {
        self.wait(|progress| progress.requests >= count).await;
    }

    /// Waits until a client left this many answers before their end.
    pub async fn wait_for_abandoned(&self, count: usize) {
        self.wait(|progress| progress.abandoned >= count).await;
    }

    async fn wait(&self, reached: impl Fn(&Progress) -> bool) {
        let mut progress = self.shared.progress.subscribe();
        // The sender lives in `self`, so the channel cannot close meanwhile.
        let _closed = progress.wait_for(reached).await;
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.accepting.abort();
        let faults = self.take_faults();
        if !std::thread::panicking() {
            assert!(faults.is_empty(), "bad requests: {faults:#?}");
        }
    }
}

impl fmt::Debug for ModelServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelServer").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: &mut Request) -> Reply {
        let fault = if self.checks { check::fault(request) } else { None };
        let mut state = self.lock();
        request.number = state.requests.len() + 1;
        state.requests.push(request.clone());
        let reply = if let Some(fault) = fault {
            let reply = Reply::error(400, &fault);
            state.faults.push(format!("request {}: {fault}", request.number));
            reply
        } else if let Some(reply) = state.script.pop_front() {
            reply
        } else if let Some(respond) = state.always.clone() {
            drop(state);
            respond(request)
        } else {
            let fault = "the script has no more answers";
            state.faults.push(format!("request {}: {fault}", request.number));
            Reply::error(400, fault)
        };
        self.progress.send_modify(|progress| progress.requests += 1);
        reply
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        shared.progress.send_modify(|progress| progress.connections += 1);
        connections.spawn(serve(stream, Arc::clone(&shared)));
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let mut connection = http::Connection::new(stream);
    while let Ok(Some(mut request)) = connection.read_request().await {
        let reply = shared.answer(&mut request);
        match delivery::deliver(&mut connection, &request, reply).await {
            delivery::Outcome::Sent => {}
            delivery::Outcome::Closed => return,
            delivery::Outcome::Abandoned => {
                shared.progress.send_modify(|progress| progress.abandoned += 1);
                return;
            }
        }
    }
}

//! Sends an answer the way its script says.

use std::io;

use super::http::{Connection, Request};
use super::reply::{Body, Ending, Reply};
use super::{anthropic, completions};
use crate::gzip;

pub(super) enum Outcome {
    /// Whole; the connection can take the next request.
    Sent,
    /// The script closed the connection.
    Closed,
    /// The client left before the end.
    Abandoned,
}

pub(super) async fn deliver(
    connection: &mut Connection,
    request: &Request,
    reply: Reply,
) -> Outcome {
    match reply.ending {
        Ending::CloseUnanswered => return Outcome::Closed,
        Ending::NeverAnswer => {
            connection.client_leaves().await;
            return Outcome::Abandoned;
        }
        _ => {}
    }
    if wait(connection, reply.delay).await.is_err() {
        return Outcome::Abandoned;
    }
    send(connection, request, reply).await.unwrap_or(Outcome::Abandoned)
}

async fn send(connection: &mut Connection, request: &Request, reply: Reply) -> io::Result<Outcome> {
    let streams = !matches!(reply.body, Body::Whole(_));
    let mut pieces = body(request, reply.body);
    if reply.gzip {
        pieces = vec![gzip::stored(&pieces.concat())];
    }
    if let Some(size) = reply.piece {
        pieces = pieces.concat().chunks(size).map(<[u8]>::to_vec).collect();
    }

    let mut head = format!("HTTP/1.1 {} Scripted\r\n", reply.status);
    let mut line = |name: &str, value: &str| {
        head.push_str(name);
        head.push_str(": ");
        head.push_str(value);
        head.push_str("\r\n");
    };
    if streams {
        line("content-type", "text/event-stream; charset=utf-8");
    }
    if reply.gzip {
        line("content-encoding", "gzip");
    }
    for (name, value) in &reply.headers {
        line(name, value);
    }
    line("transfer-encoding", "chunked");
    head.push_str("\r\n");
    connection.write(head.as_bytes()).await?;

    for (number, piece) in pieces.iter().enumerate() {
        match reply.ending {
            Ending::CutAfter(limit) if number >= limit => return Ok(Outcome::Closed),
            Ending::ResetAfter(limit) if number >= limit => {
                connection.stream.get_ref().set_zero_linger()?;
                return Ok(Outcome::Closed);
            }
            Ending::SilentAfter(limit) if number >= limit => {
                connection.client_leaves().await;
                return Ok(Outcome::Abandoned);
            }
            _ => {}
        }
        if number > 0 {
            wait(connection, reply.pause).await?;
        }
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend(piece);
        chunk.extend(b"\r\n");
        connection.write(&chunk).await?;
    }
    connection.write(b"0\r\n\r\n").await?;
    Ok(Outcome::Sent)
}

/// The body in the pieces it is sent in.
fn body(request: &Request, body: Body) -> Vec<Vec<u8>> {
    let events = match body {
        Body::Whole(bytes) => return if bytes.is_empty() { Vec::new() } else { vec![bytes] },
        Body::Events(events) => events,
        Body::Turn(turn) => {
            let json = request.json();
            let model = json.get("model").and_then(|model| model.as_str()).unwrap_or_default();
            let number = request.number;
            if request.path().ends_with("/messages") {
                anthropic::events(&turn, model, number)
            } else {
                completions::events(&turn, model, number)
            }
        }
    };
    events.into_iter().map(String::into_bytes).collect()
}

/// Sleeps; an error when the client left meanwhile.
async fn wait(connection: &mut Connection, time: std::time::Duration) -> io::Result<()> {
    if time.is_zero() {
        return Ok(());
    }
    tokio::select! {
        () = tokio::time::sleep(time) => Ok(()),
        () = connection.client_leaves() => Err(io::ErrorKind::ConnectionAborted.into()),
    }
}

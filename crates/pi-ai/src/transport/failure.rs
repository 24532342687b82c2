//! Texts for what goes wrong below HTTP. They are part of error classification: see
//! [`crate::retry`].

use std::error::Error;
use std::io;
use std::time::Duration;

use url::Url;

/// No answer came: refused, unknown host, bad certificate, closed too early. `host` is where the
/// connection was meant to go, if it is known.
pub(super) fn no_answer(error: &reqwest::Error, url: &str, direct: bool) -> String {
    let host = if direct { Url::parse(url).ok() } else { None };
    format!("Connection error.: {}", connect_cause(error, host.as_ref()))
}

/// The body stopped in its middle.
pub(super) fn broken_body(error: &reqwest::Error) -> String {
    let cause = deepest(error);
    let lost = error.is_body() || error.is_decode() || error.is_request();
    let closed = io_kind(error).is_none_or(|kind| {
        matches!(
            kind,
            io::ErrorKind::UnexpectedEof
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
        )
    });
    if lost && closed {
        format!("terminated: other side closed ({cause})")
    } else {
        format!("terminated: {cause}")
    }
}

/// Nothing was received for `limit`.
pub(super) fn silence(limit: Duration) -> String {
    format!("Request timed out: nothing received for {} ms", limit.as_millis())
}

/// The whole chain of an error, outermost first.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        text.push_str(": ");
        text.push_str(&error.to_string());
        next = error.source();
    }
    text
}

fn connect_cause(error: &reqwest::Error, url: Option<&Url>) -> String {
    let address = url.and_then(|url| {
        let host = url.host_str()?;
        Some(match url.port_or_known_default() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        })
    });
    let cause = deepest(error).to_string();
    let code = match io_kind(error) {
        Some(io::ErrorKind::ConnectionRefused) => "ECONNREFUSED",
        Some(io::ErrorKind::TimedOut) => "ETIMEDOUT",
        Some(io::ErrorKind::HostUnreachable) => "EHOSTUNREACH",
        Some(io::ErrorKind::NetworkUnreachable) => "ENETUNREACH",
        _ if error.is_timeout() => "ETIMEDOUT",
        _ if cause.contains("lookup address") => {
            let host = url.and_then(Url::host_str).unwrap_or_default();
            return format!("getaddrinfo ENOTFOUND {host} ({cause})");
        }
        _ => return cause,
    };
    match address {
        Some(address) => format!("connect {code} {address}"),
        None => format!("connect {code} ({cause})"),
    }
}

fn io_kind(error: &(dyn Error + 'static)) -> Option<io::ErrorKind> {
    let mut next = Some(error);
    let mut kind = None;
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            kind = Some(error.kind());
        }
        next = error.source();
    }
    kind
}

/// The innermost error says most; the outer ones hold the URL, which may hold a key.
fn deepest<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest
}

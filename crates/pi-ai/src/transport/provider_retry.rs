//! Whether and when a failed HTTP request is sent again, below what the events show.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use jiff::fmt::rfc2822;

/// Longest wait a server may ask for, unless the request says otherwise, in milliseconds.
const MAX_SERVER_DELAY_MS: u64 = 60_000;

const FIRST_BACKOFF: f64 = 0.5;
const LONGEST_BACKOFF: f64 = 8.0;

/// Whether an answer may be asked for again. The server's own word counts first.
pub(super) fn is_worth_another_try(status: StatusCode, headers: &HeaderMap) -> bool {
    match text(headers, "x-should-retry") {
        Some("true") => true,
        Some("false") => false,
        _ => matches!(status.as_u16(), 408 | 409 | 429 | 500..),
    }
}

/// How long the server asks to wait: `retry-after-ms`, else `retry-after` in seconds or as a date.
/// `None` when it says nothing, nothing readable, or a moment already past.
pub(super) fn server_delay(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let milliseconds = text(headers, "retry-after-ms").and_then(|text| text.parse::<f64>().ok());
    let seconds = milliseconds.map(|ms| ms / 1000.0).or_else(|| {
        let text = text(headers, "retry-after")?;
        text.parse().ok().or_else(|| {
            let moment = rfc2822::parse(text).ok()?.timestamp();
            Some(moment.duration_since(now).as_secs_f64())
        })
    })?;
    Duration::try_from_secs_f64(seconds).ok().filter(|delay| !delay.is_zero())
}

/// The wait before try `attempt` + 1 (the first is 0).
///
/// # Errors
/// The server asks for more than `max_delay_ms` (`None`: 60,000; 0: any): a text for the user,
/// to stand before the error's own.
pub(super) fn delay(
    attempt: u32,
    server: Option<Duration>,
    max_delay_ms: Option<u64>,
) -> Result<Duration, String> {
    let Some(asked) = server else {
        return Ok(backoff(attempt, random()));
    };
    match max_delay_ms.unwrap_or(MAX_SERVER_DELAY_MS) {
        0 => Ok(asked),
        cap if asked <= Duration::from_millis(cap) => Ok(asked),
        cap => Err(format!(
            "Server requested {}s retry delay (max: {}s).",
            asked.as_secs_f64().ceil(),
            cap.div_ceil(1000)
        )),
    }
}

/// Half a second doubling up to eight, less up to a quarter by `random` in 0 to 1.
fn backoff(attempt: u32, random: f64) -> Duration {
    let doublings = i32::try_from(attempt.min(16)).unwrap_or(16);
    let seconds = (FIRST_BACKOFF * 2_f64.powi(doublings)).min(LONGEST_BACKOFF);
    Duration::from_secs_f64(seconds * (1.0 - random * 0.25))
}

/// Evenly spread from 0 to 1; the standard library's hash seeds are random enough for jitter.
fn random() -> f64 {
    let bits = RandomState::new().hash_one(0_u8);
    f64::from(u32::try_from(bits >> 32).unwrap_or_default()) / f64::from(u32::MAX)
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_static(v)))
            .collect()
    }

    #[test]
    fn status_decides_unless_the_server_says_so_itself() {
        for (status, expected) in [
            (400, false),
            (401, false),
            (404, false),
            (413, false),
            (422, false),
            (408, true),
            (409, true),
            (429, true),
            (500, true),
            (503, true),
            (529, true),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(is_worth_another_try(status, &HeaderMap::new()), expected, "{status}");
            for (word, decided) in [("true", true), ("false", false)] {
                let headers = headers(&[("x-should-retry", word)]);
                assert_eq!(is_worth_another_try(status, &headers), decided, "{status} {word}");
            }
        }
    }

    #[test]
    fn the_servers_wait_is_read_from_either_header() {
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let ms = |ms| Some(Duration::from_millis(ms));
        for (pairs, expected) in [
            (&[("retry-after-ms", "1500")][..], ms(1500)),
            (&[("retry-after", "2")], ms(2000)),
            (&[("retry-after", "1.5")], ms(1500)),
            (&[("retry-after-ms", "20"), ("retry-after", "9")], ms(20)),
            (&[("retry-after-ms", "x"), ("retry-after", "9")], ms(9000)),
            (&[("retry-after", "Fri, 02 Jan 2026 03:04:35 GMT")], ms(30_000)),
            (&[("retry-after", "Fri, 02 Jan 2026 03:04:00 GMT")], None),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "0")], None),
            (&[("retry-after", "inf")], None),
            (&[], None),
        ] {
            assert_eq!(server_delay(&headers(pairs), now), expected, "{pairs:?}");
        }
    }

    #[test]
    fn without_a_word_of_the_server_the_wait_doubles_with_jitter() {
        let seconds: Vec<_> = (0..6).map(|attempt| backoff(attempt, 0.0).as_secs_f64()).collect();
        assert_eq!(seconds, [0.5, 1.0, 2.0, 4.0, 8.0, 8.0]);
        assert_eq!(backoff(0, 1.0).as_secs_f64(), 0.375);
        assert_eq!(backoff(u32::MAX, 0.0).as_secs_f64(), 8.0);
        let wait = delay(0, None, Some(1)).unwrap();
        assert!((0.375..=0.5).contains(&wait.as_secs_f64()), "{wait:?}");
    }

    #[test]
    fn a_wait_above_the_cap_fails_at_once() {
        let asked = Some(Duration::from_millis(90_500));
        let text = "Server requested 91s retry delay (max: 60s).";
        assert_eq!(delay(0, asked, None), Err(text.to_owned()));
        assert_eq!(delay(0, asked, Some(90_500)), Ok(Duration::from_millis(90_500)));
        assert_eq!(delay(0, asked, Some(0)), Ok(Duration::from_millis(90_500)));
    }
}

//! Letting work begin before anything later is looked at.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// Lets work go as far as it goes without waiting. If it is pending, it has to be polled again by
/// whoever waits for it.
pub(super) async fn poll_once<F: Future + ?Sized>(mut work: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await
}

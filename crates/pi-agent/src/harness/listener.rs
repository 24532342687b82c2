//! Who hears of a session, and in which order.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;

use crate::event::SessionEvent;

/// Hears of a session. Listeners are awaited one after the other, in the order they subscribed.
pub trait SessionListener: Send + Sync {
    /// Before the event is public, and before what it tells is on disk. For those who may still
    /// act on it.
    fn before_event<'a>(&'a self, _event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// The event has happened; what it tells is on disk.
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()>;
}

/// Names a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionListenerId(u64);

#[derive(Default)]
pub(super) struct Listeners {
    list: Mutex<List>,
}

#[derive(Default)]
struct List {
    next_id: u64,
    listeners: Arc<[(SessionListenerId, Arc<dyn SessionListener>)]>,
}

impl Listeners {
    pub(super) fn add(&self, listener: Arc<dyn SessionListener>) -> SessionListenerId {
        let mut list = self.lock();
        let id = SessionListenerId(list.next_id);
        list.next_id += 1;
        list.listeners = list.listeners.iter().cloned().chain([(id, listener)]).collect();
        id
    }

    pub(super) fn remove(&self, id: SessionListenerId) {
        let mut list = self.lock();
        list.listeners = list.listeners.iter().filter(|(other, _)| *other != id).cloned().collect();
    }

    pub(super) async fn before(&self, event: &SessionEvent) {
        for (_, listener) in self.current().iter() {
            listener.before_event(event).await;
        }
    }

    pub(super) async fn tell(&self, event: &SessionEvent) {
        for (_, listener) in self.current().iter() {
            listener.on_event(event).await;
        }
    }

    fn current(&self) -> Arc<[(SessionListenerId, Arc<dyn SessionListener>)]> {
        Arc::clone(&self.lock().listeners)
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Which sessions asked for more strict tools than the provider compiles, and what to send them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use indexmap::{IndexMap, IndexSet};
use serde_json::Value;

use crate::protocol::HttpRequest;

/// Parts of the messages that name the provider's limits.
const LIMIT_TEXTS: [&str; 3] = [
    "The compiled grammar is too large",
    "Too many strict tools (",
    "Schemas contains too many parameters with union types (",
];
/// Sessions remembered; a forgotten one pays one more rejection.
const MAX_SESSIONS: usize = 1024;
/// Declarations remembered: many times what one session has.
const MAX_DECLARATIONS: usize = 1024;

/// Whether an answer rejects a request because of its strict tools.
pub(super) fn is_strict_limit(status: u16, body: &str) -> bool {
    status == 400 && LIMIT_TEXTS.iter().any(|text| body.contains(text))
}

/// Shared by all requests; bounded, forgets the oldest first.
#[derive(Debug, Default)]
pub(super) struct StrictMemory(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    over_limit: IndexSet<String>,
    /// Loose forms of declarations that went out strict by preference, by their strict JSON text.
    loose: IndexMap<String, Value>,
}

impl StrictMemory {
    pub(super) fn is_over_limit(&self, session: Option<&str>) -> bool {
        session.is_some_and(|session| self.lock().over_limit.contains(session))
    }

    pub(super) fn remember_loose(&self, strict: &Value, loose: Value) {
        let key = strict.to_string();
        let known = &mut *self.lock();
        if known.loose.contains_key(&key) {
            return;
        }
        if known.loose.len() >= MAX_DECLARATIONS {
            known.loose.shift_remove_index(0);
        }
        known.loose.insert(key, loose);
    }

    /// The same request with preferred strictness given up, and so for the rest of the session.
    /// `None` when the request has none to give up.
    pub(super) fn loosen(
        &self,
        request: &HttpRequest,
        session: Option<&str>,
    ) -> Option<HttpRequest> {
        let mut body = request.body.to_value();
        let known = &mut *self.lock();
        let mut changed = false;
        for declaration in declarations(&mut body) {
            changed |= known.loosen(declaration);
        }
        if !changed {
            return None;
        }
        if let Some(session) = session {
            if known.over_limit.len() >= MAX_SESSIONS {
                known.over_limit.shift_remove_index(0);
            }
            known.over_limit.insert(session.to_owned());
        }
        Some(HttpRequest { body: body.into(), ..request.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        // What is known is whole between any two operations, even if one of them panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn loosen(&self, declaration: &mut Value) -> bool {
        let cache_control =
            declaration.as_object_mut().and_then(|fields| fields.shift_remove("cache_control"));
        let loose = self.loose.get(&declaration.to_string());
        if let Some(loose) = loose {
            declaration.clone_from(loose);
        }
        if let (Some(cache_control), Some(fields)) = (cache_control, declaration.as_object_mut()) {
            fields.insert("cache_control".into(), cache_control);
        }
        loose.is_some()
    }
}

/// Every tool declaration in a body: of the list and of additions inside the conversation.
fn declarations(body: &mut Value) -> Vec<&mut Value> {
    let Some(body) = body.as_object_mut() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (key, value) in body {
        match key.as_str() {
            "tools" => found.extend(value.as_array_mut().into_iter().flatten()),
            "messages" => {
                let messages = value.as_array_mut().into_iter().flatten();
                let blocks = messages
                    .filter_map(|message| message.get_mut("content")?.as_array_mut())
                    .flatten();
                found.extend(blocks.filter_map(|block| block.pointer_mut("/tool/definition")));
            }
            _ => {}
        }
    }
    found
}

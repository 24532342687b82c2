//! A scripted model: answers come from a [`FauxScript`] instead of a network.
//!
//! For tests, demonstrations and extensions. It streams like a real provider, in small deltas, and
//! remembers what it was asked. It never opens a connection and never reads a file.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::protocol::Protocol;
use crate::protocol::Protocols;
use crate::stream::AssistantStream;
use crate::types::Context;
use crate::types::{Modality, Model, ModelCost, SimpleStreamOptions, StreamOptions, ThinkingLevel};

mod script;
mod source;
#[cfg(test)]
mod tests;

pub use script::{FauxBlock, FauxScript, FauxScriptError, FauxTurn, FauxUsage};
use source::FauxSource;

/// Protocol name of scripted models, as in a model's `api`.
pub const API: &str = "faux";

/// Works out a turn from what the model is asked.
type Respond = dyn Fn(&Context) -> FauxTurn + Send + Sync;

/// The protocol that plays a script. Cloning shares the script and the record.
#[derive(Clone, Default)]
pub struct FauxProvider {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    steps: VecDeque<Step>,
    requests: Vec<FauxRequest>,
}

enum Step {
    Turn(Box<FauxTurn>),
    Respond(Arc<Respond>),
    Always(Arc<Respond>),
}

/// One request the provider was given.
#[derive(Debug, Clone)]
pub struct FauxRequest {
    pub model: Arc<Model>,
    pub context: Context,
    pub options: StreamOptions,
    /// `Off` when the request came through the protocol's own door.
    pub reasoning: ThinkingLevel,
}

impl FauxProvider {
    /// Plays the turns of `script`, one a request, in order.
    pub fn new(script: FauxScript) -> Self {
        let provider = Self::default();
        for turn in script.turns {
            provider.push(turn);
        }
        provider
    }

    /// Adds a turn to the end of the script.
    pub fn push(&self, turn: impl Into<FauxTurn>) {
        self.lock().steps.push_back(Step::Turn(Box::new(turn.into())));
    }

    /// Adds a turn that is worked out from the conversation when its request arrives.
    pub fn push_with(&self, respond: impl Fn(&Context) -> FauxTurn + Send + Sync + 'static) {
        self.lock().steps.push_back(Step::Respond(Arc::new(respond)));
    }

    /// Answers this and every later request with `respond`; turns added after it never play.
    pub fn always(&self, respond: impl Fn(&Context) -> FauxTurn + Send + Sync + 'static) {
        self.lock().steps.push_back(Step::Always(Arc::new(respond)));
    }

    /// Every request so far, oldest first.
    pub fn requests(&self) -> Vec<FauxRequest> {
        self.lock().requests.clone()
    }

    /// The context of every request so far, oldest first.
    pub fn contexts(&self) -> Vec<Context> {
        self.lock().requests.iter().map(|request| request.context.clone()).collect()
    }

    /// How many turns have not played yet.
    pub fn remaining(&self) -> usize {
        self.lock().steps.len()
    }

    /// A registry that knows this provider and nothing else.
    pub fn protocols(&self) -> Protocols {
        let mut protocols = Protocols::empty();
        protocols.register(API, Arc::new(self.clone()));
        protocols
    }

    /// A model to go with it: sees images, reasons, 200,000 tokens of window, free of charge.
    pub fn model() -> Model {
        Model {
            id: "faux-1".to_owned(),
            name: "Faux 1".to_owned(),
            api: API.to_owned(),
            provider: API.to_owned(),
            base_url: String::new(),
            reasoning: true,
            thinking_level_map: None,
            input: vec![Modality::Text, Modality::Image],
            cost: ModelCost::default(),
            context_window: 200_000,
            max_tokens: 16_384,
            headers: None,
            compat: None,
            prompt_cache: None,
            input_limits: None,
            sampling_params: None,
            sampling_params_by_thinking_level: None,
        }
    }

    fn answer(&self, request: FauxRequest) -> AssistantStream {
        let model = Arc::clone(&request.model);
        let cancel = request.options.cancel.clone();
        let context = request.context.clone();
        let step = {
            let mut state = self.lock();
            state.requests.push(request);
            match state.steps.front() {
                Some(Step::Always(respond)) => Some(Step::Always(Arc::clone(respond))),
                _ => state.steps.pop_front(),
            }
        };
        // The closure runs unlocked: it may push further turns.
        let turn = match step {
            Some(Step::Turn(turn)) => *turn,
            Some(Step::Respond(respond) | Step::Always(respond)) => respond(&context),
            None => return AssistantStream::failed(&model, "The faux script has no more turns"),
        };
        AssistantStream::new(FauxSource::new(&model, turn, cancel))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Protocol for FauxProvider {
    fn stream(
        &self,
        model: Arc<Model>,
        context: Context,
        options: StreamOptions,
    ) -> AssistantStream {
        self.answer(FauxRequest { model, context, options, reasoning: ThinkingLevel::Off })
    }

    fn stream_simple(
        &self,
        model: Arc<Model>,
        context: Context,
        options: SimpleStreamOptions,
    ) -> AssistantStream {
        let reasoning = options.reasoning;
        self.answer(FauxRequest { model, context, options: options.base, reasoning })
    }
}

impl fmt::Debug for FauxProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("FauxProvider")
            .field("remaining", &state.steps.len())
            .field("requests", &state.requests.len())
            .finish()
    }
}

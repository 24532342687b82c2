//! Several hooks as one.
//!
//! Owns: in which order they are asked and how their answers combine. Never: answers by itself.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_ai::{AssistantMessage, Model, ToolCall, ToolResultMessage};
use serde_json::{Map, Value};

use super::{LoopHooks, ToolDecision, ToolOutputPatch, TurnChange, TurnFinish};
use crate::message::AgentMessage;
use crate::tool::ToolOutput;

/// Hooks asked one after the other, in their order.
///
/// | question | answer |
/// |---|---|
/// | context | each changes what the one before made of it |
/// | before a tool call | each changes the arguments further; the first to block or fail decides |
/// | after a tool call | each sees the result as changed so far; the first to fail decides |
/// | a finished message | each changes what the one before made of it |
/// | a finished turn | one that wants to go on decides; all are asked |
/// | stop after the turn | the first yes decides |
/// | next turn | model, level and context of the last that names one; messages of all |
/// | key | the first decides |
///
/// Whoever comes behind the one that decides is not asked.
#[derive(Debug, Clone, Default)]
pub struct HookChain(Vec<Arc<dyn LoopHooks>>);

impl FromIterator<Arc<dyn LoopHooks>> for HookChain {
    fn from_iter<I: IntoIterator<Item = Arc<dyn LoopHooks>>>(hooks: I) -> Self {
        Self(hooks.into_iter().collect())
    }
}

#[deny(clippy::missing_trait_methods)]
impl LoopHooks for HookChain {
    fn transform_context<'a>(
        &'a self,
        mut messages: Vec<AgentMessage>,
    ) -> BoxFuture<'a, Vec<AgentMessage>> {
        Box::pin(async move {
            for hooks in &self.0 {
                messages = hooks.transform_context(messages).await;
            }
            messages
        })
    }

    fn before_tool_call<'a>(
        &'a self,
        call: &'a ToolCall,
        mut arguments: Map<String, Value>,
    ) -> BoxFuture<'a, Result<ToolDecision, String>> {
        Box::pin(async move {
            for hooks in &self.0 {
                match hooks.before_tool_call(call, arguments).await? {
                    ToolDecision::Run(changed) => arguments = changed,
                    block @ ToolDecision::Block { .. } => return Ok(block),
                }
            }
            Ok(ToolDecision::Run(arguments))
        })
    }

    fn after_tool_call<'a>(
        &'a self,
        call: &'a ToolCall,
        arguments: &'a Map<String, Value>,
        output: &'a ToolOutput,
    ) -> BoxFuture<'a, Result<ToolOutputPatch, String>> {
        Box::pin(async move {
            let mut changed: Option<ToolOutput> = None;
            let mut all = ToolOutputPatch::default();
            for hooks in &self.0 {
                let current = changed.as_ref().unwrap_or(output);
                let patch = hooks.after_tool_call(call, arguments, current).await?;
                if patch != ToolOutputPatch::default() {
                    changed = Some(patch.clone().apply_to(current.clone()));
                    all = all.then(patch);
                }
            }
            Ok(all)
        })
    }

    fn finish_message<'a>(&'a self, mut message: AgentMessage) -> BoxFuture<'a, AgentMessage> {
        Box::pin(async move {
            for hooks in &self.0 {
                message = hooks.finish_message(message).await;
            }
            message
        })
    }

    fn finish_turn<'a>(
        &'a self,
        message: &'a Arc<AssistantMessage>,
        results: &'a [Arc<ToolResultMessage>],
    ) -> BoxFuture<'a, TurnFinish> {
        Box::pin(async move {
            let mut finish = TurnFinish::default();
            for hooks in &self.0 {
                finish.continues |= hooks.finish_turn(message, results).await.continues;
            }
            finish
        })
    }

    fn should_stop_after_turn<'a>(
        &'a self,
        message: &'a Arc<AssistantMessage>,
        results: &'a [Arc<ToolResultMessage>],
    ) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            for hooks in &self.0 {
                if hooks.should_stop_after_turn(message, results).await {
                    return true;
                }
            }
            false
        })
    }

    fn prepare_next_turn<'a>(&'a self) -> BoxFuture<'a, TurnChange> {
        Box::pin(async move {
            let mut all = TurnChange::default();
            for hooks in &self.0 {
                let change = hooks.prepare_next_turn().await;
                all.model = change.model.or(all.model);
                all.thinking_level = change.thinking_level.or(all.thinking_level);
                all.context = change.context.or(all.context);
                all.messages.extend(change.messages);
            }
            all
        })
    }

    fn get_api_key<'a>(&'a self, model: &'a Model) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            for hooks in &self.0 {
                if let Some(key) = hooks.get_api_key(model).await {
                    return Some(key);
                }
            }
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;
    use std::sync::Mutex;

    use pi_ai::faux::FauxProvider;
    use pi_ai::{InputBlock, ThinkingLevel};
    use serde_json::json;

    use super::*;

    /// Answers with its name and notes that it was asked.
    #[derive(Debug, Default)]
    struct Link {
        name: &'static str,
        blocks: bool,
        fails: bool,
        stops: bool,
        key: Option<&'static str>,
        level: Option<ThinkingLevel>,
        patch: ToolOutputPatch,
        seen: Mutex<Vec<String>>,
    }

    impl Link {
        fn note(&self, what: impl Into<String>) {
            self.seen.lock().unwrap().push(what.into());
        }
    }

    impl LoopHooks for Link {
        fn transform_context<'a>(
            &'a self,
            mut messages: Vec<AgentMessage>,
        ) -> BoxFuture<'a, Vec<AgentMessage>> {
            messages.push(text(self.name));
            Box::pin(ready(messages))
        }

        fn before_tool_call<'a>(
            &'a self,
            _call: &'a ToolCall,
            mut arguments: Map<String, Value>,
        ) -> BoxFuture<'a, Result<ToolDecision, String>> {
            self.note("before");
            arguments.insert(self.name.to_owned(), json!(arguments.len()));
            Box::pin(ready(match (self.fails, self.blocks) {
                (true, _) => Err(self.name.to_owned()),
                (_, true) => Ok(ToolDecision::block(self.name)),
                _ => Ok(ToolDecision::Run(arguments)),
            }))
        }

        fn after_tool_call<'a>(
            &'a self,
            _call: &'a ToolCall,
            _arguments: &'a Map<String, Value>,
            output: &'a ToolOutput,
        ) -> BoxFuture<'a, Result<ToolOutputPatch, String>> {
            let texts: String = output.content.iter().filter_map(InputBlock::as_text).collect();
            self.note(texts);
            let answer =
                if self.fails { Err(self.name.to_owned()) } else { Ok(self.patch.clone()) };
            Box::pin(ready(answer))
        }

        fn should_stop_after_turn<'a>(
            &'a self,
            _message: &'a Arc<AssistantMessage>,
            _results: &'a [Arc<ToolResultMessage>],
        ) -> BoxFuture<'a, bool> {
            self.note("stop?");
            Box::pin(ready(self.stops))
        }

        fn prepare_next_turn<'a>(&'a self) -> BoxFuture<'a, TurnChange> {
            Box::pin(ready(TurnChange {
                thinking_level: self.level,
                messages: vec![text(self.name)],
                ..TurnChange::default()
            }))
        }

        fn get_api_key<'a>(&'a self, _model: &'a Model) -> BoxFuture<'a, Option<String>> {
            Box::pin(ready(self.key.map(str::to_owned)))
        }
    }

    fn chain<const N: usize>(links: [Link; N]) -> (HookChain, [Arc<Link>; N]) {
        let links = links.map(Arc::new);
        let hooks = links.iter().map(|link| Arc::<Link>::clone(link) as Arc<dyn LoopHooks>);
        (hooks.collect(), links)
    }

    fn named(name: &'static str) -> Link {
        Link { name, ..Link::default() }
    }

    fn text(text: &str) -> AgentMessage {
        AgentMessage::user(vec![InputBlock::text(text)], 0)
    }

    fn call() -> ToolCall {
        ToolCall { name: "echo".to_owned(), ..ToolCall::default() }
    }

    fn seen(link: &Link) -> Vec<String> {
        link.seen.lock().unwrap().clone()
    }

    #[tokio::test]
    async fn contexts_are_transformed_in_sequence() {
        let (chain, _) = chain([named("a"), named("b")]);
        let messages = chain.transform_context(vec![text("first")]).await;
        assert_eq!(messages, [text("first"), text("a"), text("b")]);
    }

    #[tokio::test]
    async fn arguments_are_changed_in_sequence() {
        let (chain, _) = chain([named("a"), named("b")]);
        let decision = chain.before_tool_call(&call(), Map::new()).await;
        let Ok(ToolDecision::Run(arguments)) = decision else { panic!("{decision:?}") };
        assert_eq!(Value::Object(arguments), json!({"a": 0, "b": 1}));
    }

    #[tokio::test]
    async fn the_first_to_block_or_fail_decides_over_a_call() {
        let blocks = Link { blocks: true, ..named("b") };
        let fails = Link { fails: true, ..named("b") };
        for (link, expected) in
            [(blocks, Ok(ToolDecision::block("b"))), (fails, Err("b".to_owned()))]
        {
            let (chain, [.., last]) = chain([named("a"), link, named("c")]);
            assert_eq!(chain.before_tool_call(&call(), Map::new()).await, expected);
            assert!(seen(&last).is_empty());
        }
    }

    #[tokio::test]
    async fn results_are_patched_in_sequence() {
        let content = ToolOutputPatch {
            content: Some(vec![InputBlock::text("patched")]),
            structured_content: Some(json!("of a")),
            is_error: Some(true),
            ..ToolOutputPatch::default()
        };
        let later = ToolOutputPatch {
            content: Some(vec![InputBlock::text("again")]),
            terminate: Some(true),
            ..ToolOutputPatch::default()
        };
        let (chain, links) = chain([
            Link { patch: content, ..named("a") },
            Link { patch: later.clone(), ..named("b") },
            named("c"),
        ]);
        let output = ToolOutput::text("plain");
        let patch = chain.after_tool_call(&call(), &Map::new(), &output).await.unwrap();
        let texts: Vec<_> = links.iter().flat_map(|link| seen(link)).collect();
        assert_eq!(texts, ["plain", "patched", "again"]);
        let expected = ToolOutputPatch { is_error: Some(true), ..later };
        assert_eq!(patch, expected, "structured content goes with the content it belongs to");
    }

    #[tokio::test]
    async fn the_first_to_fail_decides_over_a_result() {
        let (chain, [.., last]) = chain([Link { fails: true, ..named("a") }, named("b")]);
        let output = ToolOutput::text("plain");
        let answer = chain.after_tool_call(&call(), &Map::new(), &output).await;
        assert_eq!(answer, Err("a".to_owned()));
        assert!(seen(&last).is_empty());
    }

    #[tokio::test]
    async fn any_stop_wins() {
        let answer = Arc::new(AssistantMessage::pending(&FauxProvider::model(), 0));
        for (stops, expected, last_asked) in [
            ([false, false], false, true),
            ([false, true], true, true),
            ([true, false], true, false),
        ] {
            let (chain, [_, last]) = chain(stops.map(|stops| Link { stops, ..named("a") }));
            assert_eq!(chain.should_stop_after_turn(&answer, &[]).await, expected);
            assert_eq!(!seen(&last).is_empty(), last_asked);
        }
    }

    #[tokio::test]
    async fn the_next_turn_takes_the_last_change_and_all_messages() {
        let (chain, _) = chain([
            Link { level: Some(ThinkingLevel::Low), ..named("a") },
            Link { level: Some(ThinkingLevel::High), ..named("b") },
            named("c"),
        ]);
        let change = chain.prepare_next_turn().await;
        assert_eq!(change.thinking_level, Some(ThinkingLevel::High));
        assert_eq!(change.messages, [text("a"), text("b"), text("c")]);
    }

    #[tokio::test]
    async fn the_first_key_wins() {
        let (chain, _) = chain([
            named("a"),
            Link { key: Some("k1"), ..named("b") },
            Link { key: Some("k2"), ..named("c") },
        ]);
        assert_eq!(chain.get_api_key(&FauxProvider::model()).await.as_deref(), Some("k1"));
    }

    #[tokio::test]
    async fn an_empty_chain_changes_nothing() {
        let chain = HookChain::default();
        assert_eq!(chain.transform_context(vec![text("a")]).await, [text("a")]);
        let decision = chain.before_tool_call(&call(), Map::new()).await;
        assert_eq!(decision, Ok(ToolDecision::Run(Map::new())));
        assert_eq!(chain.get_api_key(&FauxProvider::model()).await, None);
    }
}

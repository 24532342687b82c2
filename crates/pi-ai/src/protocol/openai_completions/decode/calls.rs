//! Tool calls while they arrive.

use indexmap::IndexMap;
use serde_json::Value;

use super::super::chunk::CallDelta;
use crate::event::MessageBuilder;
use crate::types::{AssistantBlock, ToolCall};

/// Property of grammar tools nothing is known of.
const DEFAULT_PROPERTY: &str = "input";

/// The calls of one answer, told apart by index, else by id.
pub(super) struct OpenCalls {
    calls: Vec<OpenCall>,
    grammar_properties: IndexMap<String, String>,
}

struct OpenCall {
    block: usize,
    index: Option<u64>,
    /// As the host sent it; the block's own may differ.
    wire_id: String,
    name: String,
    /// The call carries plain text that is framed as a JSON object; the frame is open.
    framed: bool,
}

impl OpenCalls {
    pub(super) fn new(grammar_properties: IndexMap<String, String>) -> Self {
        Self { calls: Vec::new(), grammar_properties }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub(super) fn delta(&mut self, delta: &CallDelta<'_>, out: &mut MessageBuilder) {
        let (function, custom) = (delta.function.as_ref(), delta.custom.as_ref());
        let function_name = function.map_or("", |function| function.name.0.as_ref());
        let custom_name = custom.map_or("", |custom| custom.name.0.as_ref());
        let name = if function_name.is_empty() { custom_name } else { function_name };
        let id = delta.id.0.as_ref();
        let position = self
            .find(delta.index, id, name)
            .unwrap_or_else(|| self.open(delta.index, id, name, out));
        let Some(call) = self.calls.get_mut(position) else { return };
        call.complete(id, name, out);
        if let Some(function) = function {
            out.tool_call_delta(call.block, &function.arguments.0);
        }
        let input = custom.map_or("", |custom| custom.input.0.as_ref());
        if !input.is_empty() {
            let property =
                self.grammar_properties.get(&call.name).map_or(DEFAULT_PROPERTY, String::as_str);
            call.framed_delta(property, input, out);
        }
    }

    /// Ends the call in `block`.
    pub(super) fn end(&mut self, block: usize, out: &mut MessageBuilder) {
        if self.calls.iter().any(|call| call.block == block && call.framed) {
            out.tool_call_delta(block, "\"}");
        }
        out.tool_call_end(block);
    }

    /// The open call a fragment belongs to.
    fn find(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        if index.is_some() {
            let position = self.calls.iter().rposition(|call| call.index == index)?;
            // Hosts that number every parallel call 0 still give each its id and name.
            let is_new = !id.is_empty()
                && !name.is_empty()
                && self
                    .calls
                    .get(position)
                    .is_some_and(|c| !c.wire_id.is_empty() && c.wire_id != id);
            return (!is_new).then_some(position);
        }
        if !id.is_empty() {
            return self.calls.iter().rposition(|call| call.wire_id == id);
        }
        // Neither index nor id: a name begins a call, anything else continues the last one.
        if name.is_empty() { self.calls.len().checked_sub(1) } else { None }
    }

    fn open(
        &mut self,
        index: Option<u64>,
        id: &str,
        name: &str,
        out: &mut MessageBuilder,
    ) -> usize {
        let block = out.tool_call_start(ToolCall {
            id: unused_id(id, out),
            name: name.to_owned(),
            ..ToolCall::default()
        });
        let (wire_id, name) = (id.to_owned(), name.to_owned());
        self.calls.push(OpenCall { block, index, wire_id, name, framed: false });
        self.calls.len() - 1
    }
}

impl OpenCall {
    /// Takes an id or a name that comes late.
    fn complete(&mut self, id: &str, name: &str, out: &mut MessageBuilder) {
        if self.wire_id.is_empty() && !id.is_empty() {
            id.clone_into(&mut self.wire_id);
            let id = unused_id(id, out);
            if let Some(AssistantBlock::ToolCall(call)) = out.block_mut(self.block) {
                call.id = id;
            }
        }
        if self.name.is_empty() && !name.is_empty() {
            name.clone_into(&mut self.name);
            if let Some(AssistantBlock::ToolCall(call)) = out.block_mut(self.block) {
                name.clone_into(&mut call.name);
            }
        }
    }

    /// Adds plain text as part of `{"<property>":"…"}`.
    fn framed_delta(&mut self, property: &str, text: &str, out: &mut MessageBuilder) {
        let quoted = Value::from(text).to_string();
        let open_end = quoted.strip_suffix('"').unwrap_or(&quoted);
        if self.framed {
            let body = open_end.strip_prefix('"').unwrap_or(open_end);
            out.tool_call_delta(self.block, body);
        } else {
            self.framed = true;
            let property = Value::from(property).to_string();
            out.tool_call_delta(self.block, &format!("{{{property}:{open_end}"));
        }
    }
}

/// `id`, with a number behind it when another call has it: results are matched by id.
fn unused_id(id: &str, out: &MessageBuilder) -> String {
    let is_used = |id: &str| out.message().tool_calls().any(|call| call.id == id);
    let mut unused = id.to_owned();
    let mut number = 2;
    while !id.is_empty() && is_used(&unused) {
        unused = format!("{id}_{number}");
        number += 1;
    }
    unused
}

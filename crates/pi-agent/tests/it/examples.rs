//! The examples run, and what they claim is so.

#[path = "../../examples/concierge.rs"]
mod concierge;
#[path = "../../examples/own_storage.rs"]
mod own_storage;
#[path = "../../examples/restart.rs"]
mod restart;

#[test]
fn an_agent_without_code_answers_and_is_compacted() {
    concierge::main().expect("concierge");
}

#[test]
fn a_session_can_be_kept_anywhere() {
    own_storage::main().expect("own storage");
}

#[test]
fn an_agent_goes_on_after_a_restart() {
    restart::main().expect("restart");
}

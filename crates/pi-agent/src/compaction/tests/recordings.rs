//! Compactions another program made, prepared again.

use super::*;
use crate::session::EntryBody;

#[test]
fn recorded_compactions_are_cut_and_counted_alike() {
    let Some(shared) = pi_test::shared_dir() else {
        println!("left out: no shared folder");
        return;
    };
    let path = shared.join("spec/fixtures/session-compactions.jsonl");
    let (mut session, _) = Session::open(&path, Path::new("/w")).expect("opens");
    let compactions: Vec<_> = session
        .entries()
        .filter_map(|entry| match &entry.parse().ok()?.body {
            EntryBody::Compaction(body) => Some((entry.parent()?.id().to_owned(), body.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(compactions.len(), 3);
    for (before, recorded) in compactions {
        session.set_leaf(Some(&before)).expect("leaf");
        let preparation = prepare(&session, &keeping(100)).expect("prepared");
        let first_kept = preparation.first_kept_entry_id.expect("something is kept");
        assert_eq!(first_kept, recorded.first_kept_entry_id);
        assert_eq!(preparation.is_split_turn, recorded.summary.contains("(split turn)"));
        // The recording's prompt is shortened, so only counts of the provider compare.
        if estimate_context(&session).is_measured {
            assert_eq!(preparation.tokens_before, recorded.tokens_before);
        }
    }
}

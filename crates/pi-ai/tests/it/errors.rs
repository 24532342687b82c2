//! Verdicts over recorded error answers of many providers.

use serde_json::Value;

/// A model that was retired for good. The recorded verdict comes from `ENOTFOUND` being found
/// inside `ResourceNotFoundException`; asking again cannot help.
const RETIRED: &str = "reached the end of its life";

#[test]
fn recorded_errors_get_their_verdicts() {
    let Some(shared) = pi_test::shared_dir() else {
        println!("left out: no shared folder");
        return;
    };
    let rows = std::fs::read_to_string(shared.join("providers/streams/errors.jsonl")).unwrap();
    let mut count = 0;
    for row in rows.lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        let expected = &row["expected"];
        let text = expected["errorMessage"].as_str().unwrap();
        let retryable = expected["retryable"] == true && !text.contains(RETIRED);
        assert_eq!(pi_ai::overflow::is_overflow_text(text), expected["overflow"] == true, "{text}");
        assert_eq!(pi_ai::retry::is_retryable(text), retryable, "{text}");
        count += 1;
    }
    assert!(count >= 84, "{count} rows");
}

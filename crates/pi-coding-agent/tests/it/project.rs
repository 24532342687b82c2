//! What the project and the user add to the prompt, and what needs trust.

use serde_json::json;

use crate::bed::{Bed, WIRES, system_prompt, tool_names};

/// The system prompt of one run.
async fn prompt(bed: &Bed, args: &[&str]) -> String {
    bed.server.push("Yes.");
    let ended = bed.pi([args, &["-p", "hi"]].concat()).run().await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{args:?}");
    system_prompt(&bed.bodies().pop().unwrap())
}

#[tokio::test]
async fn the_project_counts_only_when_it_is_trusted() {
    let by_default = |trust: &str| json!({"defaultProjectTrust": trust});
    for (args, settings, saved, trusted) in [
        (&[][..], json!({}), None, false),
        (&["--approve"], json!({}), None, true),
        (&["-a"], by_default("never"), Some(false), true),
        (&["--no-approve"], by_default("always"), Some(true), false),
        (&[], by_default("always"), None, true),
        (&[], by_default("never"), None, false),
        (&[], json!({}), Some(true), true),
        (&[], by_default("always"), Some(false), false),
    ] {
        let bed = Bed::idle().await;
        bed.settings(&settings);
        if let Some(saved) = saved {
            let parent = bed.scratch.ws().parent().unwrap().to_str().unwrap().to_owned();
            bed.scratch.write("agent/trust.json", json!({parent: saved}).to_string()).unwrap();
        }
        bed.scratch.write("ws/.pi/settings.json", r#"{"defaultTools": ["read"]}"#).unwrap();
        bed.scratch.write("ws/.pi/SYSTEM.md", "PROJECT PROMPT").unwrap();
        bed.scratch.write("ws/.pi/APPEND_SYSTEM.md", "PROJECT ADDENDUM").unwrap();
        bed.scratch.write("ws/AGENTS.md", "PROJECT RULES").unwrap();
        let prompt = prompt(&bed, args).await;
        let case = format!("{args:?} {settings} {saved:?}");
        assert_eq!(prompt.starts_with("PROJECT PROMPT"), trusted, "{case}");
        assert_eq!(prompt.contains("PROJECT ADDENDUM"), trusted, "{case}");
        assert!(prompt.contains("PROJECT RULES"), "context files need no trust: {case}");
        let body = bed.bodies().pop().unwrap();
        assert_eq!(tool_names(&body) == ["read"], trusted, "{case}");
    }
}

#[tokio::test]
async fn only_the_current_directory_has_a_project_scope() {
    let bed = Bed::idle().await;
    bed.scratch.write("ws/.pi/SYSTEM.md", "PARENT PROMPT").unwrap();
    let inner = bed.scratch.ws().join("inner");
    std::fs::create_dir(&inner).unwrap();
    bed.server.push("Yes.");
    bed.pi(["--approve", "-p", "hi"]).current_dir(&inner).run().await;
    assert!(!system_prompt(&bed.bodies()[0]).contains("PARENT PROMPT"));
}

#[tokio::test]
async fn context_files_come_from_the_agent_directory_and_from_the_root_down() {
    let bed = Bed::idle().await;
    let files = [
        ("agent/AGENTS.md", "FROM AGENT DIR"),
        ("AGENTS.md", "FROM ABOVE"),
        ("ws/CLAUDE.md", "NOT TAKEN"),
        ("ws/AGENTS.md", "FROM WS"),
        ("ws/inner/CLAUDE.md", "FROM INNER"),
    ];
    for (path, text) in files {
        bed.scratch.write(path, text).unwrap();
    }
    let inner = bed.scratch.ws().join("inner");
    bed.server.push("Yes.");
    bed.server.push("Yes.");
    bed.pi(["-p", "hi"]).current_dir(&inner).run().await;
    let prompt = system_prompt(&bed.bodies()[0]);
    let place = |text: &str| prompt.find(text).unwrap_or_else(|| panic!("{text} in {prompt}"));
    let places = ["FROM AGENT DIR", "FROM ABOVE", "FROM WS", "FROM INNER"].map(place);
    assert!(places.is_sorted(), "{prompt}");
    assert!(!prompt.contains("NOT TAKEN"));
    let element = format!(
        "<project_instructions path=\"{}\">\nFROM WS\n</project_instructions>",
        bed.scratch.ws().join("AGENTS.md").display()
    );
    assert!(prompt.contains(&element), "{prompt}");

    bed.pi(["-nc", "-p", "hi"]).current_dir(&inner).run().await;
    let without = system_prompt(&bed.bodies()[1]);
    assert!(!without.contains("FROM") && !without.contains("<project_context>"), "{without}");
}

#[tokio::test]
async fn a_custom_prompt_replaces_the_built_in_parts_and_keeps_the_rest() {
    for model in WIRES {
        let bed = Bed::idle().await;
        bed.scratch.write("ws/AGENTS.md", "RULES").unwrap();
        bed.scratch.write("ws/mine.md", "FROM A FILE").unwrap();
        bed.scratch.write("agent/SYSTEM.md", "USERS PROMPT").unwrap();
        bed.scratch.write("agent/APPEND_SYSTEM.md", "USERS ADDENDUM").unwrap();
        let model = ["--model", model];
        let cwd = format!("<cwd>\n{}\n</cwd>", bed.scratch.ws().display());
        for (args, start, addendum) in [
            (&[][..], "USERS PROMPT\n\n", "USERS ADDENDUM"),
            (&["--system-prompt", "BE BRIEF"], "BE BRIEF\n\n", "USERS ADDENDUM"),
            (&["--system-prompt", "mine.md"], "FROM A FILE\n\n", "USERS ADDENDUM"),
            (
                &["--append-system-prompt", "ONE", "--append-system-prompt", "mine.md"],
                "USERS PROMPT\n\n",
                "ONE\n\nFROM A FILE",
            ),
        ] {
            let prompt = prompt(&bed, &[&model, args].concat()).await;
            assert!(prompt.starts_with(start), "{args:?}: {prompt}");
            let addendum = format!("<addendum>\n{addendum}\n</addendum>");
            assert!(prompt.contains(&addendum), "{args:?}: {prompt}");
            assert!(prompt.contains("RULES") && prompt.trim_end().ends_with(&cwd), "{prompt}");
            for absent in ["<tools>", "<rules>", "<docs>"] {
                assert!(!prompt.contains(absent), "{args:?}: {prompt}");
            }
        }
    }
}

#[tokio::test]
async fn the_built_in_prompt_names_the_tools_and_no_time() {
    let bed = Bed::idle().await;
    let first = prompt(&bed, &[]).await;
    let second = prompt(&bed, &[]).await;
    assert_eq!(first, second, "byte by byte, in another process");
    for name in ["read", "bash", "edit", "write"] {
        assert!(first.contains(&format!("\n- {name}: ")), "{first}");
    }
    let without = prompt(&bed, &["-nt"]).await;
    assert!(without.contains("<tools>\n(none)"), "{without}");
}

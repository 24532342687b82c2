use std::path::PathBuf;

use futures_util::future::BoxFuture;
use pi_agent::{ToolCallInput, ToolError, ToolOutput};
use serde_json::json;

use super::*;

#[derive(Debug)]
struct FakeTool {
    definition: pi_ai::Tool,
    snippet: Option<String>,
    guidelines: Vec<String>,
}

impl Tool for FakeTool {
    fn definition(&self) -> &pi_ai::Tool {
        &self.definition
    }

    fn prompt_snippet(&self) -> Option<&str> {
        self.snippet.as_deref()
    }

    fn prompt_guidelines(&self) -> &[String] {
        &self.guidelines
    }

    fn execute<'a>(
        &'a self,
        _call: ToolCallInput<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::ready(Ok(ToolOutput::default())))
    }
}

fn tool(name: &str, snippet: &str, guidelines: &[&str]) -> Arc<dyn Tool> {
    Arc::new(FakeTool {
        definition: pi_ai::Tool {
            name: name.to_owned(),
            description: String::new(),
            parameters: json!({"type": "object"}),
            constrained_sampling: None,
        },
        snippet: (!snippet.is_empty()).then(|| snippet.to_owned()),
        guidelines: guidelines.iter().map(|&rule| rule.to_owned()).collect(),
    })
}

fn parts<'a>(tools: &'a [Arc<dyn Tool>]) -> PromptParts<'a> {
    PromptParts {
        tools,
        custom: None,
        append: None,
        context_files: &[],
        skills: None,
        docs_dir: None,
        cwd: Path::new("/w"),
    }
}

fn names(sections: &IndexMap<String, String>) -> Vec<&str> {
    sections.keys().map(String::as_str).collect()
}

fn context_file(path: &str, content: &str) -> ContextFile {
    ContextFile { path: PathBuf::from(path), content: content.to_owned() }
}

#[test]
fn every_section_in_its_order() {
    let docs = Path::new("/pi/docs");
    let files = [context_file("/w/AGENTS.md", "x")];
    let full = PromptParts {
        append: Some("more"),
        context_files: &files,
        skills: Some("s"),
        docs_dir: Some(docs),
        ..parts(&[])
    };
    let sections = sections(&full);
    assert_eq!(
        names(&sections),
        ["preamble", "tools", "rules", "docs", "addendum", "project_context", "skills", "cwd"]
    );
    for (name, text) in &sections {
        if name == "preamble" {
            assert!(!text.starts_with('<'));
        } else {
            assert!(text.starts_with(&format!("<{name}>\n")), "{text}");
            assert!(text.ends_with(&format!("\n</{name}>")), "{text}");
        }
    }
    assert!(sections["docs"].contains("/pi/docs"));
    assert_eq!(sections["cwd"], "<cwd>\n/w\n</cwd>");
    assert_eq!(sections["addendum"], "<addendum>\nmore\n</addendum>");
}

#[test]
fn without_extras_only_the_base_is_there() {
    assert_eq!(names(&sections(&parts(&[]))), ["preamble", "tools", "rules", "cwd"]);
}

#[test]
fn a_custom_prompt_drops_what_pi_says_and_keeps_the_rest() {
    let files = [context_file("/w/AGENTS.md", "x")];
    let tools = [tool("read", "Read files", &[])];
    let custom = PromptParts {
        custom: Some("You are someone else.\n"),
        append: Some("more"),
        context_files: &files,
        skills: Some("s"),
        ..parts(&tools)
    };
    let sections = sections(&custom);
    assert_eq!(names(&sections), ["preamble", "addendum", "project_context", "skills", "cwd"]);
    assert_eq!(sections["preamble"], "You are someone else.\n");
}

#[test]
fn tools_with_a_snippet_are_listed() {
    let tools = [tool("read", "Read files", &[]), tool("quiet", "", &[]), tool("x", "Do x", &[])];
    assert_eq!(
        sections(&parts(&tools))["tools"],
        format!("<tools>\n- read: Read files\n- x: Do x\n{MORE_TOOLS}\n</tools>")
    );
    assert_eq!(sections(&parts(&[]))["tools"], format!("<tools>\n(none)\n{MORE_TOOLS}\n</tools>"));
}

#[test]
fn rules_are_those_of_the_active_tools_without_repeats() {
    let bash = || tool("bash", "", &["B"]);
    type Case<'a> = (Vec<Arc<dyn Tool>>, Vec<&'a str>);
    let cases: Vec<Case<'_>> = vec![
        (vec![], vec![CONCISE, SHOW_PATHS]),
        (vec![bash()], vec![SHELL_FOR_FILES, "B", CONCISE, SHOW_PATHS]),
        (
            vec![tool("read", "", &["R", "B", CONCISE]), bash()],
            vec![SHELL_FOR_FILES, "R", "B", CONCISE, SHOW_PATHS],
        ),
        (vec![bash(), tool("ls", "", &[])], vec!["B", CONCISE, SHOW_PATHS]),
        (vec![bash(), tool("grep", "", &[])], vec!["B", CONCISE, SHOW_PATHS]),
        (vec![tool("find", "", &["F"])], vec!["F", CONCISE, SHOW_PATHS]),
    ];
    for (tools, expected) in cases {
        let expected: String = expected.iter().map(|rule| format!("- {rule}\n")).collect();
        assert_eq!(sections(&parts(&tools))["rules"], format!("<rules>\n{expected}</rules>"));
    }
}

#[test]
fn context_files_keep_their_order_and_bounds() {
    let files = [context_file("/a/AGENTS.md", "A\n"), context_file("/w/CLAUDE.md", "")];
    let with_files = PromptParts { context_files: &files, ..parts(&[]) };
    assert_eq!(
        sections(&with_files)["project_context"],
        format!(
            "<project_context>\n{CONTEXT_INTRO}\n\n\
             <project_instructions path=\"/a/AGENTS.md\">\nA\n\n</project_instructions>\n\n\
             <project_instructions path=\"/w/CLAUDE.md\">\n\n</project_instructions>\n\
             </project_context>"
        )
    );
}

#[test]
fn the_prompt_is_small_and_always_the_same() {
    let tools = [
        tool("read", "Read files and images", &["Read before you edit."]),
        tool("bash", "Run shell commands", &[]),
        tool("edit", "Replace exact text in a file", &["Keep each edit small and unique."]),
        tool("write", "Create or overwrite files", &["Write only new files or whole rewrites."]),
    ];
    let text = || sections(&parts(&tools)).into_values().collect::<Vec<_>>().join("\n\n");
    assert_eq!(text(), text());
    assert!(text().len() < 1_000, "{} bytes", text().len());
}

//! Skills and prompt templates as users have them: files, called by name or by the model.

use pi_test::Turn;
use serde_json::{Value, json};

use crate::bed::{Bed, last_text, system_prompt};
use crate::rpc::client;

const PDF: &str = "---\nname: pdf\ndescription: Reads PDF files\n---\n\nRun scripts/pages.sh.\n";

#[tokio::test]
async fn a_model_loads_a_skill_and_runs_its_script_by_the_absolute_path() {
    let bed = Bed::idle().await;
    let file = bed.scratch.write("agent/skills/pdf/SKILL.md", PDF).unwrap();
    let folder = file.parent().unwrap();
    bed.scratch
        .write(
            "agent/skills/pdf/scripts/pages.sh",
            "cat \"$(dirname \"$0\")/../assets/n.txt\"; pwd",
        )
        .unwrap();
    bed.scratch.write("agent/skills/pdf/references/forms.md", "Forms are tables.").unwrap();
    bed.scratch.write("agent/skills/pdf/assets/n.txt", "12 pages\n").unwrap();
    let inside = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let script = format!("sh {}", inside("scripts/pages.sh"));
    bed.server.push(Turn::tool("c1", "read", json!({"path": inside("SKILL.md")})));
    bed.server.push(Turn::tool("c2", "read", json!({"path": inside("references/forms.md")})));
    bed.server.push(Turn::tool("c3", "bash", json!({"command": script})));
    bed.server.push("It has 12 pages.");
    let ended = bed.pi(["-p", "How many pages?"]).run().await;
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("It has 12 pages.\n", ""));
    let bodies = bed.bodies();
    let prompt = system_prompt(&bodies[0]);
    let listed = format!(
        "<available_skills>\n  <skill>\n    <name>pdf</name>\n    \
         <description>Reads PDF files</description>\n    <location>{}</location>\n  </skill>\n\
         </available_skills>\n</skills>",
        file.display()
    );
    assert!(prompt.contains(&listed), "{prompt}");
    assert!(!prompt.contains("Run scripts"), "instructions are loaded when they are needed");
    let results = bodies[3].to_string();
    for text in ["Run scripts/pages.sh.", "Forms are tables.", "12 pages\\n"] {
        assert!(results.contains(text), "{text} in {results}");
    }
    let ws = bed.scratch.ws();
    assert!(results.contains(ws.to_str().unwrap()), "commands run in the project: {results}");
}

#[tokio::test]
async fn the_prompt_offers_skills_to_whoever_can_read_them() {
    for (tools, how) in [
        ("read,bash", Some("the read tool")),
        ("read", Some("the read tool")),
        ("bash", Some("with bash")),
        ("write", None),
    ] {
        let bed = Bed::new(["Yes."]).await;
        bed.scratch.write("agent/skills/pdf/SKILL.md", PDF).unwrap();
        bed.pi(["-p", "-t", tools, "hi"]).run().await;
        let prompt = system_prompt(&bed.bodies()[0]);
        assert_eq!(prompt.contains("<available_skills>"), how.is_some(), "{tools}: {prompt}");
        assert!(how.is_none_or(|how| prompt.contains(how)), "{tools}: {prompt}");
    }
}

#[tokio::test]
async fn a_typed_command_becomes_what_it_calls() {
    let bed = Bed::idle().await;
    let file = bed.scratch.write("agent/skills/pdf/SKILL.md", PDF).unwrap();
    bed.scratch.write("agent/prompts/review.md", "Review $1, then ${2:-stop}.").unwrap();
    bed.scratch.write("agent/prompts/model.md", "Which model?").unwrap();
    let called = format!(
        "<skill name=\"pdf\" location=\"{}\">\nReferences are relative to {}.\n\n\
         Run scripts/pages.sh.\n</skill>",
        file.display(),
        file.parent().unwrap().display()
    );
    for (typed, sent) in [
        ("/skill:pdf", called.clone()),
        ("/skill:pdf a.pdf b.pdf", format!("{called}\n\na.pdf b.pdf")),
        ("/skill:nope x", "/skill:nope x".to_owned()),
        ("/review \"the diff\"", "Review the diff, then stop.".to_owned()),
        ("/review a b", "Review a, then b.".to_owned()),
        (" /review a", " /review a".to_owned()),
        ("/model", "Which model?".to_owned()),
        ("/nope", "/nope".to_owned()),
    ] {
        bed.server.push("Yes.");
        bed.pi(["--no-session", "-p", typed]).run().await;
        assert_eq!(last_text(bed.bodies().last().unwrap(), "user"), sent, "{typed}");
    }
}

#[tokio::test]
async fn clients_see_and_call_commands_and_a_new_session_finds_new_ones() {
    let bed = Bed::idle().await;
    bed.scratch.write("agent/prompts/one.md", "---\ndescription: First\n---\nOne $@").unwrap();
    bed.scratch.write("ws/.pi/prompts/own.md", "Own words\nmore").unwrap();
    let skill = bed.scratch.write("agent/skills/pdf/SKILL.md", PDF).unwrap();
    let mut client = client(&bed, ["--approve"]);
    let commands = client.call(json!({"type": "get_commands"})).await.value();
    let names = |commands: &Value| -> Vec<String> {
        let commands = commands["commands"].as_array().unwrap();
        commands.iter().map(|command| command["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&commands), ["own", "one", "skill:pdf"]);
    assert_eq!(commands["commands"][0]["description"], "Own words");
    assert_eq!(
        commands["commands"][2],
        json!({
            "name": "skill:pdf", "description": "Reads PDF files", "source": "skill",
            "sourceInfo": {
                "path": skill.to_str().unwrap(), "source": "auto", "scope": "user",
                "origin": "top-level", "baseDir": bed.scratch.agent().to_str().unwrap(),
            },
        })
    );
    // Queued texts are expanded when they are queued.
    client.call(json!({"type": "steer", "message": "/one two"})).await.value();
    client.call(json!({"type": "follow_up", "message": "/skill:pdf"})).await.value();
    let queued = client.call(json!({"type": "clear_queue"})).await.value();
    assert_eq!(queued["steering"], json!(["One two"]));
    assert!(queued["followUp"][0].as_str().unwrap().starts_with("<skill name=\"pdf\""));
    bed.server.push("Yes.");
    client.call(json!({"type": "prompt", "message": "/own"})).await.value();
    client.event("agent_settled").await;
    assert_eq!(last_text(&bed.bodies()[0], "user"), "Own words\nmore");
    // A skill that is gone is told, and nothing is sent.
    std::fs::remove_file(&skill).unwrap();
    let answer = client.call(json!({"type": "prompt", "message": "/skill:pdf"})).await;
    assert!(answer.failure().contains("no such file"), "{answer:?}");
    bed.scratch.write("agent/prompts/two.md", "Two").unwrap();
    client.call(json!({"type": "new_session"})).await.value();
    let commands = client.call(json!({"type": "get_commands"})).await.value();
    assert_eq!(names(&commands), ["own", "one", "two"]);
    assert_eq!(client.end().await.stderr, "");
}

#[tokio::test]
async fn a_broken_skill_is_told_and_costs_nothing_else() {
    let bed = Bed::new(["Yes."]).await;
    bed.scratch.write("agent/skills/pdf/SKILL.md", PDF).unwrap();
    let none = bed.scratch.write("agent/skills/a/SKILL.md", "---\nname: a\n---\nx").unwrap();
    let yaml = bed.scratch.write("agent/skills/b/SKILL.md", "---\nname: [\n---\nx").unwrap();
    // What is only odd, and what another one hides, is nothing a run needs to tell.
    bed.scratch.write("agent/skills/Odd_Name/SKILL.md", "---\ndescription: odd\n---\nx").unwrap();
    bed.scratch.write("home/.agents/skills/pdf/SKILL.md", PDF).unwrap();
    let ended = bed.pi(["-p", "hi"]).run().await;
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(lines[0], format!("Warning: {}: description is required", none.display()));
    let start = format!("Warning: {}:2: the front matter is no YAML (", yaml.display());
    assert!(lines[1].starts_with(&start), "{lines:?}");
    let prompt = system_prompt(&bed.bodies()[0]);
    assert!(prompt.contains("<name>pdf</name>") && prompt.contains("<name>Odd_Name</name>"));
}

#[tokio::test]
async fn options_add_and_leave_out_and_a_path_that_leads_nowhere_is_an_error() {
    let bed = Bed::idle().await;
    bed.scratch.write("agent/skills/pdf/SKILL.md", PDF).unwrap();
    bed.scratch.write("agent/prompts/one.md", "One").unwrap();
    bed.scratch.write("ws/extra/SKILL.md", "---\nname: extra\ndescription: e\n---\n").unwrap();
    bed.scratch.write("ws/two.md", "Two").unwrap();
    bed.scratch.write("ws/notes.txt", "no").unwrap();
    for (args, expected) in [
        (&[][..], &["one", "skill:pdf"][..]),
        (&["-ns"], &["one"]),
        (&["-np"], &["skill:pdf"]),
        (
            &["--skill", "extra", "--prompt-template", "two.md"],
            &["one", "two", "skill:pdf", "skill:extra"],
        ),
        (&["-ns", "--skill=extra", "-np", "--prompt-template=two.md"], &["two", "skill:extra"]),
    ] {
        let mut client = client(&bed, args.iter().copied());
        let commands = client.call(json!({"type": "get_commands"})).await.value();
        let names: Vec<&str> = commands["commands"]
            .as_array()
            .unwrap()
            .iter()
            .map(|command| command["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, expected, "{args:?}");
        client.end().await;
    }
    let ws = bed.scratch.ws();
    for (args, what) in
        [(["--skill", "nope"], "skill"), (["--prompt-template", "nope"], "prompt template")]
    {
        let ended = bed.pi(args).args(["-p", "hi"]).run().await;
        let error = format!(
            "Error: Cannot load the {what} {}/nope: no such file or directory\n",
            ws.display()
        );
        assert_eq!((ended.code, ended.stderr), (Some(1), error));
    }
    let ended = bed.pi(["--skill", "notes.txt", "-p", "hi"]).run().await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.ends_with("notes.txt: not a Markdown file (.md)\n"), "{}", ended.stderr);
    assert_eq!(bed.bodies().len(), 0);
}

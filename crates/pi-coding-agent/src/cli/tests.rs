use pi_ai::ThinkingLevel;
use pi_ai::auth::Secret;

use super::*;
use crate::tool_selection::{ToolBase, ToolList};
use crate::workspace::SessionSource;

const PIPES: Terminals = Terminals { stdin: false, stdout: false, stderr: false };
const TERMINAL: Terminals = Terminals { stdin: true, stdout: true, stderr: true };

fn parse_words(words: &[&str], terminals: Terminals) -> Result<Invocation, AppError> {
    let arguments: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    parse(&arguments, terminals)
}

fn options(words: &[&str]) -> CliOptions {
    match parse_words(words, PIPES) {
        Ok(Invocation::Run(options)) => *options,
        other => panic!("{words:?}: {other:?}"),
    }
}

fn error(words: &[&str]) -> String {
    match parse_words(words, PIPES) {
        Ok(Invocation::Run(options)) => options.reject_unknown().unwrap_err().message,
        Ok(other) => panic!("{words:?}: {other:?}"),
        Err(error) => error.message,
    }
}

#[test]
fn arguments_are_sorted_into_files_and_messages() {
    let cases: &[(&[&str], &[&str], &[&str])] = &[
        (&["a", "b"], &[], &["a", "b"]),
        (&["@x", "a", "@y z"], &["x", "y z"], &["a"]),
        (&["@\"a.txt\""], &["\"a.txt\""], &[]),
        (&["--", "-starts with dash"], &[], &["-starts with dash"]),
        (&["--", "@a.txt", "--help"], &["a.txt"], &["--help"]),
        (&["---\nname: a\n---\nbody"], &[], &["---\nname: a\n---\nbody"]),
        (&["-p", "--- x"], &[], &["--- x"]),
        (&["-p", "x", "y"], &[], &["x", "y"]),
        (&["", "x"], &[], &["x"]),
        (&["--model", "m", "x"], &[], &["x"]),
        (&["--system-prompt", "s", "x"], &[], &["x"]),
        (&["--list-models", "opus", "x"], &[], &["x"]),
        (&["--list-models", "@f"], &["f"], &[]),
        (&["@"], &[""], &[]),
        (&["x", "install"], &[], &["x", "install"]),
    ];
    for (words, files, messages) in cases {
        let options = options(words);
        assert_eq!(options.files, *files, "{words:?}");
        assert_eq!(options.messages, *messages, "{words:?}");
        options.reject_unknown().unwrap();
    }
}

#[test]
fn errors_name_what_is_wrong() {
    let cases: &[(&[&str], &str)] = &[
        (&["--bogus-option", "x"], "Unknown option: --bogus-option"),
        (&["--bogus=1", "x"], "Unknown option: --bogus"),
        (&["-Z", "x"], "Unknown option: -Z"),
        (&["-pc", "x"], "Unknown option: -pc"),
        (&["-"], "Unknown option: -"),
        (&["-5"], "Unknown option: -5"),
        (&["--mode", "bogus", "x"], "Invalid mode \"bogus\". Valid values: text, json, rpc"),
        (&["--mode", "", "x"], "Invalid mode \"\". Valid values: text, json, rpc"),
        (&["--mode", "rpc", "@a.txt"], "@file arguments are not supported in RPC mode"),
        (&["--name"], "--name requires a value"),
        (&["-n"], "-n requires a value"),
        (&["--name", " ", "x"], "--name requires a non-empty value"),
        (&["--model"], "--model requires a value"),
        (&["--print=x"], "--print takes no value"),
        (&["--provider", "p", "x"], "--provider works only together with --model"),
        (&["--api-key", "k", "x"], "--api-key works only together with --model or --models"),
        (&["--session-id", "a b"], "Invalid session id \"a b\""),
        (&["--session-id", "-a"], "Invalid session id \"-a\""),
        (&["--session-id", ""], "Invalid session id \"\""),
        (
            &["--session-id", "a", "--session", "b"],
            "--session-id cannot be combined with --session",
        ),
        (&["--session-id", "a", "-c"], "--session-id cannot be combined with --continue"),
        (&["--fork"], "--fork requires a value"),
        (&["--fork", "a", "--session", "b"], "--fork cannot be combined with --session"),
        (&["--fork", "a", "-c"], "--fork cannot be combined with --continue"),
        (&["--fork", "a", "--no-session"], "--fork cannot be combined with --no-session"),
        (&["--fork", "a", "--session-id", "a b"], "Invalid session id \"a b\""),
        (
            &["--tools", "a,+b"],
            "--tools: plain tool names cannot be mixed with +name or -name entries",
        ),
    ];
    for (words, expected) in cases {
        assert_eq!(error(words), *expected, "{words:?}");
    }
}

#[test]
fn missing_features_are_refused_by_name() {
    for option in [
        "-e",
        "--extension",
        "--skill",
        "--prompt-template",
        "--theme",
        "--use-theme",
        "--tui-mode",
        "-r",
        "--resume",
    ] {
        let text = format!("This build of pi does not have the option {option} yet");
        assert_eq!(error(&[option, "x"]), text);
        assert_eq!(error(&["x", option]), text);
    }
    for command in ["install", "remove", "uninstall", "update", "list", "config", "auth", "mcp"] {
        let text = format!("This build of pi does not have the command `pi {command}` yet");
        assert_eq!(error(&[command]), text);
    }
    assert_eq!(options(&["--mode", "rpc"]).mode, Mode::Rpc);
    let interactive = parse_words(&["x"], TERMINAL).unwrap_err();
    assert_eq!(interactive.message, "This build of pi does not have the interactive mode yet");
}

#[test]
fn switches_for_absent_things_are_accepted() {
    let words = ["-ne", "-ns", "-np", "--no-themes", "--no-mcp", "--verbose", "x"];
    let options = options(&words);
    options.reject_unknown().unwrap();
    assert_eq!(options.messages, ["x"]);
}

#[test]
fn the_mode_follows_options_and_terminals() {
    let half = Terminals { stdin: true, stdout: false, stderr: true };
    for (words, terminals, expected) in [
        (&["x"][..], PIPES, Mode::Print),
        (&["x"], half, Mode::Print),
        (&["-p", "x"], TERMINAL, Mode::Print),
        (&["--mode", "text", "-p", "x"], TERMINAL, Mode::Print),
        (&["--mode", "json", "x"], TERMINAL, Mode::Json),
        (&["--mode=json", "x"], PIPES, Mode::Json),
        (&["--list-models"], TERMINAL, Mode::Interactive),
    ] {
        let Ok(Invocation::Run(options)) = parse_words(words, terminals) else {
            panic!("{words:?}");
        };
        assert_eq!(options.mode, expected, "{words:?}");
    }
    assert!(parse_words(&["--mode", "text", "x"], TERMINAL).is_err(), "text forces nothing");
}

#[test]
fn help_and_version_answer_wherever_they_stand() {
    for words in [&["--version"][..], &["-v"], &["--bogus", "--version"], &["-e", "x", "-v", "-h"]]
    {
        assert_eq!(parse_words(words, PIPES).unwrap(), Invocation::Version, "{words:?}");
    }
    for words in [&["--help"][..], &["-h"], &["x", "-h"]] {
        assert_eq!(parse_words(words, PIPES).unwrap(), Invocation::Help, "{words:?}");
    }
    for words in [&["--", "--version"][..], &["--system-prompt", "--version"], &["---version"]] {
        assert!(
            matches!(parse_words(words, PIPES).unwrap(), Invocation::Run(_)),
            "{words:?} asks for no version"
        );
    }
}

#[test]
fn options_take_the_next_argument_whatever_it_is() {
    let options = options(&["--system-prompt", "- dash", "-n", "-x", "--append-system-prompt", ""]);
    assert_eq!(options.system_prompt.as_deref(), Some("- dash"));
    assert_eq!(options.session.name.as_deref(), Some("-x"));
    assert_eq!(options.append_system_prompt, [""]);
}

#[test]
fn a_repeated_option_counts_by_its_last_value_unless_it_adds_up() {
    let options = options(&[
        "--model",
        "a",
        "--model=b",
        "-p",
        "-p",
        "-na",
        "-a",
        "--append-system-prompt",
        "one",
        "--append-system-prompt",
        "two",
    ]);
    assert_eq!(options.model.pattern.as_deref(), Some("b"));
    assert_eq!(options.approve, Some(true));
    assert_eq!(options.append_system_prompt, ["one", "two"]);
}

#[test]
fn approval_is_open_unless_given() {
    assert_eq!(options(&["x"]).approve, None);
    assert_eq!(options(&["-a"]).approve, Some(true));
    assert_eq!(options(&["--approve", "--no-approve"]).approve, Some(false));
}

#[test]
fn an_invalid_thinking_level_is_a_warning() {
    let options = options(&["--thinking", "huge", "x"]);
    assert_eq!(options.model.thinking, None);
    assert_eq!(
        options.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "Warning: Invalid thinking level \"huge\". Valid values: off, minimal, low, medium, high, xhigh, max"
        ]
    );
    for level in ThinkingLevel::ALL {
        let options = self::options(&["--thinking", level.as_str(), "x"]);
        assert_eq!((options.model.thinking, options.warnings), (Some(level), vec![]));
    }
}

#[test]
fn model_options_travel_together() {
    let options = options(&[
        "--provider",
        "p",
        "--model",
        "m",
        "--api-key",
        "k",
        "--models",
        "a, b:low,",
        "x",
    ]);
    assert_eq!(
        options.model,
        ModelFlags {
            provider: Some("p".into()),
            pattern: Some("m".into()),
            api_key: Some(Secret::new("k")),
            thinking: None,
            scope: Some(vec!["a".into(), "b:low".into()]),
        }
    );
    options.reject_unknown().unwrap();
    assert_eq!(self::options(&["--api-key", "k", "--models", "a"]).model.pattern, None);
}

#[test]
fn a_key_does_not_show_in_debug_output() {
    let options = options(&["--model", "m", "--api-key", "sk-secret", "x"]);
    assert!(!format!("{options:?}").contains("sk-secret"), "{options:?}");
}

#[test]
fn list_models_takes_a_search_or_none() {
    for (words, expected) in [
        (&["--list-models"][..], Some(None)),
        (&["--list-models", "x"], Some(Some("x"))),
        (&["--list-models", "-p"], Some(None)),
        (&["-p"], None),
    ] {
        let search = options(words).list_models.map(|list| list.search);
        assert_eq!(search.as_ref().map(Option::as_deref), expected, "{words:?}");
    }
}

#[test]
fn the_session_source_follows_the_flags() {
    for (words, expected) in [
        (&["x"][..], SessionSource::New),
        (&["-c"], SessionSource::Newest),
        (&["--session", "ab"], SessionSource::Find("ab".into())),
        (&["--session", "ab", "-c"], SessionSource::Find("ab".into())),
        (&["--session-id", "a.b_c-1"], SessionSource::Exact("a.b_c-1".into())),
        (&["--fork", "ab"], SessionSource::Fork { source: "ab".into(), id: None }),
        (
            &["--fork", "ab", "--session-id", "cd"],
            SessionSource::Fork { source: "ab".into(), id: Some("cd".into()) },
        ),
    ] {
        assert_eq!(options(words).session.source, expected, "{words:?}");
    }
    let session =
        options(&["--session-id", "s", "--no-session", "--session-dir", "d", "-n", " N "]).session;
    assert_eq!(
        session,
        SessionFlags {
            source: SessionSource::Exact("s".into()),
            in_memory: true,
            directory: Some("d".into()),
            name: Some("N".into()),
        }
    );
}

#[test]
fn tool_options_have_short_forms_of_several_letters() {
    let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    for (words, base, list, exclude) in [
        (&["-nt"][..], ToolBase::Nothing, None, vec![]),
        (&["-nbt"], ToolBase::NoBuiltin, None, vec![]),
        (&["-nbt", "-nt"], ToolBase::Nothing, None, vec![]),
        (
            &["-t", "read, ls"],
            ToolBase::Defaults,
            Some(ToolList::Only(names(&["read", "ls"]))),
            vec![],
        ),
        (&["-t", "+ls"], ToolBase::Defaults, Some(ToolList::Changes(names(&["+ls"]))), vec![]),
        (&["-xt", "bash,w*"], ToolBase::Defaults, None, names(&["bash", "w*"])),
    ] {
        assert_eq!(options(words).tools, ToolFlags { base, list, exclude }, "{words:?}");
    }
}

#[test]
fn the_remaining_switches() {
    let given = options(&["-nc", "--offline", "-p"]);
    assert!(!given.context_files && given.offline && given.print);
    let bare = options(&["x"]);
    assert!(bare.context_files && !bare.offline && !bare.print);
}

#[test]
fn help_lists_exactly_the_options_of_this_build() {
    use clap::CommandFactory;
    let command = args::RawArgs::command();
    for argument in command.get_arguments() {
        let long = format!("--{}", argument.get_long().unwrap());
        assert!(HELP.contains(&format!("{long} ")), "{long} is missing in the help");
    }
    for (short, long) in args::SHORT {
        assert_eq!(
            HELP.contains(&format!("{short}, {long}")),
            !not_yet::is_missing(long),
            "{short}, {long}"
        );
    }
    assert!(HELP.lines().all(|line| line.len() <= 100));
}

proptest::proptest! {
    #[test]
    fn any_command_line_is_answered(arguments in proptest::collection::vec("(-{0,3}|@)[a-z=+]{0,5}", 0..6)) {
        if let Err(error) = parse(&arguments, PIPES) {
            proptest::prop_assert!(!error.message.is_empty());
        }
    }

    #[test]
    fn what_follows_two_dashes_is_kept_as_it_is(texts in proptest::collection::vec("[^@]{1,9}", 0..5)) {
        let mut arguments = vec!["--".to_owned()];
        arguments.extend(texts.iter().cloned());
        let Ok(Invocation::Run(options)) = parse(&arguments, PIPES) else { panic!("{arguments:?}") };
        proptest::prop_assert_eq!(options.messages, texts);
    }
}

#[test]
fn an_export_takes_a_file_and_needs_no_terminal_and_no_mode() {
    for words in [&["--export", "a.jsonl", "b.html"][..], &["b.html", "--export=a.jsonl"]] {
        let options = match parse_words(words, TERMINAL) {
            Ok(Invocation::Run(options)) => options,
            other => panic!("{words:?}: {other:?}"),
        };
        assert_eq!(options.export.as_deref(), Some("a.jsonl"), "{words:?}");
        assert_eq!(options.messages, ["b.html"], "{words:?}");
    }
    assert_eq!(error(&["--export"]), "--export requires a value");
}

use pi_ai::ThinkingLevel;
use pi_ai::auth::Secret;

use super::options::{Opt, Standing};
use super::*;
use crate::tool_selection::{ToolBase, ToolList};
use crate::workspace::SessionSource;

const PIPES: Terminals = Terminals { stdin: false, stdout: false, stderr: false };
const TERMINAL: Terminals = Terminals { stdin: true, stdout: true, stderr: true };

fn parse_words(words: &[&str], terminals: Terminals) -> Result<Invocation, AppError> {
    parse(words.iter().map(OsString::from), terminals)
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
        (&["-p=x"], "Unknown option: -p=x"),
        (&["--no-themes=x"], "--no-themes takes no value"),
        (&["--mode"], "--mode requires text, json, or rpc"),
        (&["--tui-mode"], "--tui-mode requires regular or fullscreen"),
        (&["--tui-mode", "odd"], "Invalid TUI mode \"odd\". Valid values: regular, fullscreen"),
        (&["--theme"], "--theme requires a value"),
        (&["--completions", "tcsh"], "Invalid shell \"tcsh\". Valid values: bash, zsh, fish"),
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

/// What becomes of an option.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    Works,
    NoEffect,
    Refused,
}

/// Every option of the TypeScript pi 1.6 and of this one: what it is written with, and its fate.
const FATES: &[(&[&str], Fate)] = &[
    (&["--provider", "p", "--model", "m"], Fate::Works),
    (&["--model", "m"], Fate::Works),
    (&["--api-key", "k", "--model", "m"], Fate::Works),
    (&["--thinking", "high"], Fate::Works),
    (&["--models", "a,b"], Fate::Works),
    (&["--list-models", "m"], Fate::Works),
    (&["--system-prompt", "s"], Fate::Works),
    (&["--append-system-prompt", "s"], Fate::Works),
    (&["--mode", "json"], Fate::Works),
    (&["--print"], Fate::Works),
    (&["-p"], Fate::Works),
    (&["--continue"], Fate::Works),
    (&["-c"], Fate::Works),
    (&["--resume"], Fate::Refused),
    (&["-r"], Fate::Refused),
    (&["--session", "s"], Fate::Works),
    (&["--session-id", "s"], Fate::Works),
    (&["--fork", "s"], Fate::Works),
    (&["--session-dir", "d"], Fate::Works),
    (&["--no-session"], Fate::Works),
    (&["--name", "n"], Fate::Works),
    (&["-n", "n"], Fate::Works),
    (&["--tools", "read"], Fate::Works),
    (&["-t", "+codemode"], Fate::Works),
    (&["--exclude-tools", "tool_search"], Fate::Works),
    (&["-xt", "bash"], Fate::Works),
    (&["--no-tools"], Fate::Works),
    (&["-nt"], Fate::Works),
    (&["--no-builtin-tools"], Fate::Works),
    (&["-nbt"], Fate::Works),
    (&["--extension", "e"], Fate::Refused),
    (&["-e", "builtin:mcp"], Fate::Refused),
    (&["--no-extensions"], Fate::NoEffect),
    (&["-ne"], Fate::NoEffect),
    (&["--no-mcp"], Fate::NoEffect),
    (&["--skill", "s"], Fate::Works),
    (&["--no-skills"], Fate::Works),
    (&["-ns"], Fate::Works),
    (&["--prompt-template", "t"], Fate::Works),
    (&["--no-prompt-templates"], Fate::Works),
    (&["-np"], Fate::Works),
    (&["--theme", "t"], Fate::NoEffect),
    (&["--no-themes"], Fate::NoEffect),
    (&["--use-theme", "light/dark"], Fate::NoEffect),
    (&["--no-context-files"], Fate::Works),
    (&["-nc"], Fate::Works),
    (&["--export", "s"], Fate::Works),
    (&["--tui-mode", "regular"], Fate::NoEffect),
    (&["--verbose"], Fate::Works),
    (&["--approve"], Fate::Works),
    (&["-a"], Fate::Works),
    (&["--no-approve"], Fate::Works),
    (&["-na"], Fate::Works),
    (&["--offline"], Fate::Works),
    (&["--help"], Fate::Works),
    (&["-h"], Fate::Works),
    (&["--version"], Fate::Works),
    (&["-v"], Fate::Works),
    (&["--completions", "bash"], Fate::Works),
    (&["--man-page"], Fate::Works),
];

#[test]
fn every_option_works_or_is_without_effect_or_refused_with_what_to_do_instead() {
    for (words, fate) in FATES {
        let option = options::find(words[0]).unwrap();
        let standing = match option.standing {
            Standing::Works => Fate::Works,
            Standing::NoEffect => Fate::NoEffect,
            Standing::Missing { .. } => Fate::Refused,
        };
        assert_eq!(standing, *fate, "{words:?}");
        for words in [[words, &["x"][..]].concat(), [&["x"][..], words].concat()] {
            match parse_words(&words, PIPES) {
                Ok(Invocation::Run(given)) => {
                    given.reject_unknown().unwrap();
                    assert_eq!(given.messages, ["x"], "{words:?}");
                    let bare = options(&["x"]);
                    assert!(*fate != Fate::NoEffect || without_themes(*given) == bare, "{words:?}");
                }
                Ok(Invocation::Version | Invocation::Tell(_)) => {
                    assert_eq!(*fate, Fate::Works, "{words:?}");
                }
                Err(error) => {
                    assert_eq!(*fate, Fate::Refused, "{words:?}: {error}");
                    let name = words.iter().find(|word| word.starts_with('-')).unwrap();
                    let message = format!("This build of pi does not have the option {name} yet");
                    assert_eq!(error.message, message);
                    assert!(error.hint.is_some_and(|hint| hint.ends_with('.')), "{words:?}");
                }
            }
        }
    }
    let listed = |word: &str| FATES.iter().any(|(words, _)| words[0] == word);
    let missing: Vec<&str> =
        options::all().flat_map(Opt::spellings).filter(|spelling| !listed(spelling)).collect();
    assert_eq!(missing, [""; 0], "the list above is complete");
}

fn without_themes(options: CliOptions) -> CliOptions {
    CliOptions { themes: Vec::new(), ..options }
}

#[test]
fn commands_are_refused_with_what_to_do_instead() {
    for command in ["install", "remove", "uninstall", "update", "list", "config", "auth", "mcp"] {
        for words in [&[command][..], &[command, "x"], &[command, "--help"]] {
            let error = parse_words(words, PIPES).unwrap_err();
            let text = format!("This build of pi does not have the command `pi {command}` yet");
            assert_eq!(error.message, text);
            let hint = error.hint.unwrap();
            assert!(
                hint.ends_with(&format!("\nTo send the word as a message: pi -p -- {command}"))
            );
        }
    }
    let install = parse_words(&["install", "npm:x"], PIPES).unwrap_err();
    assert!(install.hint.unwrap().starts_with("Clone the package yourself"));
}

#[test]
fn a_word_that_only_looks_like_a_command_is_a_message() {
    for (words, warning) in [
        (&["isntall", "x"][..], Some("`pi install`")),
        (&["confg"], Some("`pi config`")),
        (&["Hello", "list"], None),
        (&["-p", "list"], None),
        (&["--", "list"], None),
        (&["lists"], None),
        (&["updates"], None),
        (&["unistall"], Some("`pi uninstall`")),
        (&["last"], None),
        (&["list the files"], None),
        (&["installation fails, why?"], None),
        (&["acp"], None),
        (&["/bug"], None),
        (&["/llama", "/login"], None),
    ] {
        let options = options(words);
        let told: Vec<String> = options.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), usize::from(warning.is_some()), "{words:?}: {told:?}");
        assert!(warning.is_none_or(|name| told[0].contains(name)), "{told:?}");
        let messages = words.iter().filter(|word| !word.starts_with('-')).copied();
        assert_eq!(options.messages, messages.collect::<Vec<_>>());
    }
}

#[test]
fn what_was_nearly_right_is_offered() {
    for (words, hint) in [
        (&["--modle", "m"][..], Some("Did you mean --mode or --model?")),
        (&["--no-tool"], Some("Did you mean --no-tools?")),
        (&["--prnt"], Some("Did you mean --print?")),
        (&["-verbose"], Some("Did you mean --verbose?")),
        (&["--append"], Some("Did you mean --append-system-prompt?")),
        (&["-pc"], Some("Short options stand apart: -p -c")),
        (&["--bogus-option"], None),
        (&["-Z"], None),
        (&["-5"], None),
        (&["-"], None),
        (&["--resum"], None),
        (&["--mode", "jsno"], Some("Did you mean json?")),
        (&["--mode", "bogus"], None),
        (&["--tui-mode", "fulscreen"], Some("Did you mean fullscreen?")),
        (&["--completions", "fihs"], Some("Did you mean fish?")),
    ] {
        let error = match parse_words(words, PIPES) {
            Ok(Invocation::Run(options)) => options.reject_unknown().unwrap_err(),
            Ok(other) => panic!("{words:?}: {other:?}"),
            Err(error) => error,
        };
        assert_eq!(error.hint.as_deref(), hint, "{words:?}");
    }
    let [warning] = &options(&["--thinking", "hihg"]).warnings[..] else { panic!() };
    assert!(warning.0.ends_with("max\nDid you mean high?"), "{warning}");
}

#[test]
fn the_interactive_mode_is_refused() {
    let interactive = parse_words(&["x"], TERMINAL).unwrap_err();
    assert_eq!(interactive.message, "This build of pi does not have the interactive mode yet");
}

#[test]
fn arguments_that_are_no_text_are_refused_unquoted() {
    use std::os::unix::ffi::OsStringExt;
    let arguments = ["-p".into(), OsString::from_vec(b"@a\xff".to_vec())];
    let error = parse(arguments, PIPES).unwrap_err();
    assert_eq!(error.message, "Argument 2 is not valid UTF-8");
}

#[test]
fn messages_are_told_to_be_ignored_in_rpc_mode() {
    let options = options(&["--mode", "rpc", "x"]);
    assert_eq!(options.mode, Mode::Rpc);
    let [warning] = &options.warnings[..] else { panic!("{:?}", options.warnings) };
    assert!(warning.0.starts_with("Messages on the command line are ignored in RPC mode"));
    assert_eq!(self::options(&["--mode", "rpc"]).warnings, []);
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
    for (words, text) in [
        (&["--help"][..], reference::help()),
        (&["-h"], reference::help()),
        (&["x", "-h", "--bogus"], reference::help()),
        (&["--man-page"], reference::man_page()),
        (&["--completions", "zsh"], reference::completions("zsh").unwrap()),
    ] {
        assert_eq!(parse_words(words, PIPES).unwrap(), Invocation::Tell(text), "{words:?}");
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
            may_be_missing: false,
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

proptest::proptest! {
    #[test]
    fn any_command_line_is_answered(arguments in proptest::collection::vec("(-{0,3}|@)[a-z=+]{0,5}", 0..6)) {
        if let Err(error) = parse(arguments.iter().map(OsString::from), PIPES) {
            proptest::prop_assert!(!error.message.is_empty());
        }
    }

    #[test]
    fn what_follows_two_dashes_is_kept_as_it_is(texts in proptest::collection::vec("[^@]{1,9}", 0..5)) {
        let mut arguments = vec!["--".to_owned()];
        arguments.extend(texts.iter().cloned());
        let parsed = parse(arguments.iter().map(OsString::from), PIPES);
        let Ok(Invocation::Run(options)) = parsed else { panic!("{arguments:?}") };
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

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Prints the command itself, or fails when it is `false`; counts its runs.
#[derive(Debug, Default)]
struct Commands(AtomicUsize);

impl CommandRunner for Commands {
    fn run(&self, command: &str, _environment: &Environment) -> Result<Secret, CommandError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        match command {
            "false" => Err(CommandError::Failed { status: "exit status: 1".to_owned() }),
            _ => Ok(Secret::new(command)),
        }
    }
}

struct Case {
    stored: &'static str,
    configured: Option<&'static str>,
    environment: &'static [(&'static str, &'static str)],
    explicit: Option<&'static str>,
}

const NOTHING: Case = Case { stored: "{}", configured: None, environment: &[], explicit: None };

impl Case {
    fn resolver(&self) -> (KeyResolver, Arc<Commands>) {
        let commands = Arc::new(Commands::default());
        let resolver = KeyResolver::new(
            self.environment.iter().copied().collect(),
            Credentials::parse(Path::new("auth.json"), self.stored),
            Arc::clone(&commands) as Arc<dyn CommandRunner>,
        );
        (resolver, commands)
    }

    fn resolve(&self, provider: &str) -> Result<ResolvedKey, KeyError> {
        let explicit = self.explicit.map(Secret::new);
        let configured = self.configured.map(Template::parse);
        self.resolver().0.resolve(KeyRequest {
            provider,
            explicit: explicit.as_ref(),
            configured: configured.as_ref(),
        })
    }

    fn key(&self, provider: &str) -> (String, KeySource) {
        let resolved = self.resolve(provider).unwrap();
        (resolved.key.unwrap().expose().to_owned(), resolved.source)
    }
}

#[test]
fn explicit_beats_stored_beats_configured_beats_environment() {
    let all = Case {
        explicit: Some("explicit"),
        stored: r#"{"groq":{"type":"api_key","key":"stored"}}"#,
        configured: Some("configured"),
        environment: &[("GROQ_API_KEY", "variable")],
    };
    assert_eq!(all.key("groq"), ("explicit".to_owned(), KeySource::Explicit));
    let no_explicit = Case { explicit: None, ..all };
    assert_eq!(no_explicit.key("groq"), ("stored".to_owned(), KeySource::Stored));
    let no_stored = Case { stored: "{}", ..no_explicit };
    assert_eq!(no_stored.key("groq"), ("configured".to_owned(), KeySource::Configured));
    let only_variable = Case { configured: None, ..no_stored };
    let variable = KeySource::Variable("GROQ_API_KEY".to_owned());
    assert_eq!(only_variable.key("groq"), ("variable".to_owned(), variable));
    let error = Case { environment: &[("GROQ_API_KEY", "")], ..only_variable }.resolve("groq");
    assert!(
        matches!(error, Err(KeyError::Missing { variables, .. }) if variables == ["GROQ_API_KEY"])
    );
}

#[test]
fn a_stored_key_that_cannot_be_resolved_gives_way_to_the_environment_only() {
    for stored in [
        r#"{"groq":{"type":"api_key","key":"$NOPE"}}"#,
        r#"{"groq":{"type":"api_key","key":"!false"}}"#,
    ] {
        let case = Case {
            stored,
            configured: Some("configured"),
            environment: &[("GROQ_API_KEY", "variable")],
            ..NOTHING
        };
        assert_eq!(case.key("groq").0, "variable");
        let case = Case { stored, configured: Some("configured"), ..NOTHING };
        assert!(matches!(case.resolve("groq"), Err(KeyError::Missing { stored: Some(_), .. })));
    }
}

#[test]
fn a_stored_sign_in_is_reported_and_never_passed_over() {
    let case = Case {
        stored: r#"{"anthropic":{"type":"oauth","access":"t","refresh":"r","expires":1}}"#,
        environment: &[("ANTHROPIC_API_KEY", "variable")],
        configured: Some("configured"),
        explicit: None,
    };
    let error = case.resolve("anthropic").unwrap_err().to_string();
    assert!(
        error.contains("a sign-in for anthropic, which this build of pi cannot use"),
        "{error}"
    );
    let explicit = Case { explicit: Some("explicit"), ..case };
    assert_eq!(explicit.key("anthropic").0, "explicit");
}

#[test]
fn a_broken_store_is_an_error_and_not_a_missing_key() {
    let case = Case { stored: "{\"groq\":", environment: &[("GROQ_API_KEY", "v")], ..NOTHING };
    let error = case.resolve("groq").unwrap_err().to_string();
    assert!(error.starts_with("Credential store read failed for groq: auth.json:1:"), "{error}");
}

#[test]
fn variables_of_a_stored_entry_count_for_its_provider_only() {
    let case = Case {
        stored: r#"{"groq":{"type":"api_key","key":"$MINE","env":{"MINE":"from entry"}},
                    "cerebras":{"type":"api_key","key":"$MINE"},
                    "together":{"type":"api_key","env":{"TOGETHER_API_KEY":"entry"}}}"#,
        ..NOTHING
    };
    assert_eq!(case.key("groq").0, "from entry");
    assert!(case.resolve("cerebras").is_err());
    assert_eq!(case.key("together").0, "entry");
}

#[test]
fn anthropic_tokens_are_sent_as_the_table_says() {
    let both = Case {
        environment: &[("ANTHROPIC_AUTH_TOKEN", "token"), ("ANTHROPIC_API_KEY", "key")],
        ..NOTHING
    };
    let resolved = both.resolve("anthropic").unwrap();
    assert_eq!((resolved.key.unwrap().expose(), resolved.send), ("token", KeySend::Bearer));
    let explicit = Case { explicit: Some("mine"), ..both };
    assert_eq!(explicit.resolve("anthropic").unwrap().send, KeySend::Protocol);
}

#[test]
fn sign_in_tokens_of_another_application_are_refused() {
    const TOKEN: (&str, &str) = ("ANTHROPIC_OAUTH_TOKEN", "sk-ant-oat01-x");
    let alone = Case { environment: &[TOKEN], ..NOTHING };
    assert!(matches!(alone.resolve("anthropic"), Err(KeyError::Refused { .. })));
    let beside = Case { environment: &[TOKEN, ("ANTHROPIC_API_KEY", "key")], ..NOTHING };
    assert_eq!(beside.key("anthropic").0, "key");
    let explicit = Case { explicit: Some("sk-ant-oat01-y"), ..NOTHING };
    let error = explicit.resolve("anthropic").unwrap_err().to_string();
    assert!(!error.contains("oat01"), "{error}");
}

#[test]
fn what_a_provider_needs_beside_its_key_is_named() {
    let case = Case { environment: &[("CLOUDFLARE_API_KEY", "k")], ..NOTHING };
    assert_eq!(
        case.resolve("cloudflare-workers-ai").unwrap_err().to_string(),
        "cloudflare-workers-ai needs CLOUDFLARE_ACCOUNT_ID to be set beside its key."
    );
    let stored = Case {
        stored: r#"{"cloudflare-workers-ai":{"type":"api_key","key":"k","env":{"CLOUDFLARE_ACCOUNT_ID":"a"}}}"#,
        ..NOTHING
    };
    let resolved = stored.resolve("cloudflare-workers-ai").unwrap();
    assert_eq!(resolved.environment.get("CLOUDFLARE_ACCOUNT_ID"), Some("a"));
}

#[test]
fn signing_material_stands_for_a_key() {
    let case = Case { environment: &[("AWS_PROFILE", "work")], ..NOTHING };
    let resolved = case.resolve("amazon-bedrock").unwrap();
    assert_eq!((resolved.key, resolved.source), (None, KeySource::Ambient));
}

#[test]
fn stored_commands_run_once_and_configured_ones_every_time() {
    let configured = Template::parse("!print key");
    let case = Case {
        stored: r#"{"a":{"type":"api_key","key":"!print key"},"b":{"type":"api_key","key":"!false"}}"#,
        ..NOTHING
    };
    let (resolver, commands) = case.resolver();
    let runs = || commands.0.load(Ordering::Relaxed);
    let request = |provider, configured| KeyRequest { provider, explicit: None, configured };
    for _ in 0..3 {
        assert_eq!(resolver.resolve(request("a", None)).unwrap().source, KeySource::Stored);
        assert!(resolver.resolve(request("b", None)).is_err());
    }
    assert_eq!(runs(), 2);
    assert!(resolver.is_available(request("c", Some(&configured))));
    assert_eq!(runs(), 2);
    for _ in 0..3 {
        resolver.resolve(request("c", Some(&configured))).unwrap();
    }
    assert_eq!(runs(), 5);
}

#[test]
fn a_configured_command_that_fails_is_an_error_and_an_unset_variable_is_a_missing_key() {
    let command = Case { configured: Some("!false"), ..NOTHING };
    assert_eq!(
        command.resolve("mine").unwrap_err().to_string(),
        "The API key of mine could not be resolved: the command failed (exit status: 1)"
    );
    let variable = Case { configured: Some("$NOPE"), ..NOTHING };
    assert_eq!(variable.resolve("mine").unwrap_err().to_string(), "No API key found for mine.");
    let fallback =
        Case { configured: Some("$NOPE"), environment: &[("GROQ_API_KEY", "variable")], ..NOTHING };
    assert_eq!(fallback.key("groq").0, "variable");
}

#[test]
fn debug_output_of_everything_holds_no_key() {
    let case = Case {
        stored: r#"{"groq":{"type":"api_key","key":"sk-stored","env":{"X":"sk-env"}}}"#,
        environment: &[("GROQ_API_KEY", "sk-variable")],
        configured: Some("sk-configured"),
        explicit: None,
    };
    let (resolver, _) = case.resolver();
    let template = Template::parse("sk-configured");
    let request = KeyRequest { provider: "groq", explicit: None, configured: Some(&template) };
    let text = format!("{resolver:?} {request:?} {:?}", resolver.resolve(request).unwrap());
    assert!(!text.contains("sk-"), "{text}");
}

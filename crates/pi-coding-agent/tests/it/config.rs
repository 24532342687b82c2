//! The user's files: models, keys, settings; what holds when one of them is broken.

use std::os::unix::fs::PermissionsExt;

use pi_test::{Reply, Turn};
use serde_json::{Value, json};

use crate::bed::{Bed, WIRES, tool_names};

/// A provider `mine` with one model at the bed's server, and more fields.
fn write_mine(bed: &Bed, more: &Value) {
    let mut provider = json!({
        "baseUrl": format!("{}/openai/v1", bed.server.url()),
        "api": "openai-completions",
        "models": [{"id": "m"}],
    });
    for (key, value) in more.as_object().unwrap() {
        provider[key] = value.clone();
    }
    let models = json!({"providers": {"mine": provider}});
    bed.scratch.write("agent/models.json", models.to_string()).unwrap();
}

#[tokio::test]
async fn broken_settings_are_a_warning_and_stay_as_they_are() {
    let bed = Bed::new(["Yes."]).await;
    let file = bed.scratch.write("agent/settings.json", "{ \"retry\": ").unwrap();
    let ended = bed.pi(["--model", WIRES[0], "-p", "hi"]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Yes.\n"));
    let start = format!("Warning: Invalid settings file {}: ", file.display());
    assert!(ended.stderr.starts_with(&start), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "{ \"retry\": ");
}

#[tokio::test]
async fn a_broken_models_file_is_named_with_its_place_and_the_catalogue_stays() {
    let bed = Bed::idle().await;
    let file = bed.scratch.write("agent/models.json", "{\n  \"providers\": {,}\n}").unwrap();
    let program = bed.pi(["--list-models", "anthropic/claude"]).env("ANTHROPIC_API_KEY", "k");
    let ended = program.run().await;
    assert_eq!(ended.code, Some(0));
    assert!(ended.stdout.contains("claude"), "{}", ended.stdout);
    let start = format!("Warning: {}:2:", file.display());
    assert!(ended.stderr.starts_with(&start), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
}

#[tokio::test]
async fn one_bad_model_does_not_take_the_others_away() {
    let bed = Bed::new(["Yes."]).await;
    let models = json!([{"id": "m"}, {"name": "no id"}, {"id": "n", "maxTokens": "many"}]);
    write_mine(&bed, &json!({"apiKey": "k", "models": models}));
    let ended = bed.pi(["--model", "mine/m", "-p", "hi"]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Yes.\n"));
    assert!(ended.stderr.contains("providers.mine.models.1"), "{}", ended.stderr);
    assert!(ended.stderr.contains("providers.mine.models.2"), "{}", ended.stderr);
}

#[tokio::test]
async fn comments_commas_and_a_byte_order_mark_are_fine_in_the_models_file() {
    let bed = Bed::new(["Yes."]).await;
    let text = format!(
        "\u{feff}{{ // mine\n\"providers\": {{\"mine\": {{\"baseUrl\": \"{}/openai/v1\", \"apiKey\": \"k\", \
         \"api\": \"openai-completions\", \"models\": [{{\"id\": \"m\"}},],}},}},}}",
        bed.server.url()
    );
    bed.scratch.write("agent/models.json", text).unwrap();
    let ended = bed.pi(["--model", "mine/m", "-p", "hi"]).run().await;
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("Yes.\n", ""));
}

#[tokio::test]
async fn broken_credentials_are_told_and_no_other_key_takes_their_place_unseen() {
    let bed = Bed::idle().await;
    let file = bed.scratch.write("agent/auth.json", "{\"fx-anthropic\": {\"type\": \"api").unwrap();
    let ended = bed.pi(["--model", WIRES[0], "-p", "hi"]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    let last = ended.stderr.lines().last().unwrap();
    let start =
        format!("Error: Credential store read failed for fx-anthropic: {}:1:", file.display());
    assert!(last.starts_with(&start), "{}", ended.stderr);
    assert!(!bed.scratch.agent().join("sessions").exists());
}

#[tokio::test]
async fn one_broken_credential_does_not_take_the_others_away() {
    let bed = Bed::new(["Yes."]).await;
    let auth = json!({"groq": {"type": "odd"}, "fx-anthropic": {"type": "api_key", "key": "k"}});
    bed.scratch.write("agent/auth.json", auth.to_string()).unwrap();
    let ended = bed.pi(["-p", "hi"]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Yes.\n"));
    let warning = "Warning: Invalid auth.json credential for provider \"groq\"\n";
    assert_eq!(ended.stderr, warning);
    assert_eq!(bed.server.requests()[0].header("x-api-key"), Some("k"));
}

#[tokio::test]
async fn stored_keys_win_over_configured_ones_and_the_option_over_all() {
    for (args, key) in [(&[][..], "stored"), (&["--api-key", "given"], "given")] {
        let bed = Bed::new(["Yes."]).await;
        let auth = json!({"fx-openai": {"type": "api_key", "key": "stored"}});
        bed.scratch.write("agent/auth.json", auth.to_string()).unwrap();
        let args = [&["--model", "fx-openai/m-plain", "-p", "hi"], args].concat();
        assert_eq!(bed.pi(args).run().await.code, Some(0));
        let request = &bed.server.requests()[0];
        assert_eq!(request.header("authorization"), Some(format!("Bearer {key}").as_str()));
    }
}

#[tokio::test]
async fn keys_and_headers_come_from_variables_and_commands_at_each_request() {
    let bed = Bed::new([Turn::tool("c", "bash", json!({"command": "true"})), "Yes.".into()]).await;
    let counter = "!echo x >> count; wc -l < count";
    let headers = json!({"x-team": "team-$TEAM", "x-count": counter, "x-money": "$$5"});
    write_mine(&bed, &json!({"apiKey": "$MY_KEY", "headers": headers}));
    let program = bed.pi(["--model", "mine/m", "-p", "hi"]).env("MY_KEY", "k1").env("TEAM", "a");
    let ended = program.run().await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let requests = bed.server.requests();
    let counts: Vec<i32> =
        requests.iter().map(|r| r.header("x-count").unwrap().trim().parse().unwrap()).collect();
    assert_eq!(counts[1], counts[0] + 1, "the command runs again");
    for request in &requests {
        assert_eq!(request.header("authorization"), Some("Bearer k1"));
        assert_eq!(request.header("x-team"), Some("team-a"));
        assert_eq!(request.header("x-money"), Some("$5"));
    }
}

#[tokio::test]
async fn a_command_may_print_the_key_and_its_failure_is_told_without_output() {
    let bed = Bed::new(["Yes."]).await;
    write_mine(&bed, &json!({"apiKey": "!printf 'k2\\n'"}));
    assert_eq!(bed.pi(["--model", "mine/m", "-p", "hi"]).run().await.code, Some(0));
    assert_eq!(bed.server.requests()[0].header("authorization"), Some("Bearer k2"));

    write_mine(&bed, &json!({"apiKey": "!echo half-a-secret; echo half-a-secret >&2; exit 3"}));
    let ended = bed.pi(["--model", "mine/m", "-p", "hi"]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    let reason = "The API key of mine could not be resolved: the command failed (exit status: 3)\n";
    assert_eq!(ended.stderr, reason);
    assert_eq!(bed.server.requests().len(), 1);
}

#[tokio::test]
async fn auth_header_adds_a_bearer_token() {
    let bed = Bed::new(["Yes."]).await;
    let address = format!("{}/anthropic", bed.server.url());
    let more =
        json!({"api": "anthropic-messages", "baseUrl": address, "apiKey": "k", "authHeader": true});
    write_mine(&bed, &more);
    assert_eq!(bed.pi(["--model", "mine/m", "-p", "hi"]).run().await.code, Some(0));
    assert_eq!(bed.server.requests()[0].header("authorization"), Some("Bearer k"));
}

#[tokio::test]
async fn a_missing_key_is_told_before_anything_is_stored() {
    let bed = Bed::idle().await;
    write_mine(&bed, &json!({"apiKey": "$NOT_SET"}));
    let ended = bed.pi(["--model", "mine/m", "-p", "hi"]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert!(ended.stderr.starts_with("Error: No API key found for mine."), "{}", ended.stderr);
    for part in ["models.json has a key", "NOT_SET is not set", "auth.json", "--api-key"] {
        assert!(ended.stderr.contains(part), "{part} in {}", ended.stderr);
    }
    assert!(!bed.scratch.agent().join("sessions").exists());
}

#[tokio::test]
async fn a_model_without_anything_but_an_id_has_the_documented_defaults() {
    let bed = Bed::new(["Yes."]).await;
    write_mine(&bed, &json!({"apiKey": "k"}));
    let list = bed.pi(["--list-models", "mine/"]).run().await;
    let row: Vec<&str> = list.stdout.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[..2], ["mine", "m"]);
    assert_eq!(row[4..], ["no", "no"]);
    bed.pi(["--model", "mine/m", "-p", "hi"]).run().await;
    let body = &bed.bodies()[0];
    assert_eq!(body["max_completion_tokens"], 16384);
    assert_eq!(body["store"], false);
    assert_eq!(body.get("reasoning_effort"), None);
    assert_eq!(body["messages"][0]["role"], "system");
}

#[tokio::test]
async fn the_default_model_and_level_come_from_the_settings() {
    let bed = Bed::new(["One.", "Two."]).await;
    bed.settings(&json!({"defaultProvider": "fx-openai", "defaultModel": "m-think",
        "defaultThinkingLevel": "high"}));
    bed.pi(["-p", "hi"]).run().await;
    bed.pi(["-p", "hi", "--model", "fx-openai/m-think:low"]).run().await;
    let bodies = bed.bodies();
    assert_eq!(
        (&bodies[0]["model"], &bodies[0]["reasoning_effort"]),
        (&json!("m-think"), &json!("high"))
    );
    assert_eq!(bodies[1]["reasoning_effort"], "low");
}

#[tokio::test]
async fn a_model_is_found_by_a_part_of_its_name() {
    for (pattern, model) in
        [("small", "m-small"), ("fx-openai/Think", "m-think"), ("m-plain", "m-plain")]
    {
        let bed = Bed::new(["Yes."]).await;
        let openai = bed.scratch.read("agent/models.json").unwrap();
        let mut models: Value = serde_json::from_str(&openai).unwrap();
        models["providers"].as_object_mut().unwrap().shift_remove("fx-anthropic");
        bed.scratch.write("agent/models.json", models.to_string()).unwrap();
        let ended = bed.pi(["--model", pattern, "-p", "hi"]).run().await;
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{pattern}");
        assert_eq!(bed.bodies()[0]["model"], model, "{pattern}");
    }
}

#[tokio::test]
async fn options_and_settings_choose_the_tools_a_request_offers() {
    let all = ["read", "bash", "edit", "write"];
    for (setting, args, expected) in [
        (json!(null), &[][..], &all[..]),
        (json!(null), &["--tools", "bash,read,unknown"], &["bash", "read"]),
        (json!(null), &["-t", "r*"], &["read"]),
        (json!(null), &["-xt", "bash,write"], &["read", "edit"]),
        (json!(null), &["-nt"], &[]),
        (json!(null), &["-nbt"], &[]),
        (json!(["read"]), &[], &["read"]),
        (json!(["read"]), &["--tools", "+bash"], &["read", "bash"]),
        (json!(["-write"]), &[], &["read", "bash", "edit"]),
        (json!([]), &[], &[]),
    ] {
        let bed = Bed::new(["Yes."]).await;
        if !setting.is_null() {
            bed.settings(&json!({"defaultTools": setting}));
        }
        let ended = bed.pi([&["-p", "hi"], args].concat()).run().await;
        assert_eq!(ended.code, Some(0), "{args:?} {}", ended.stderr);
        let body = &bed.bodies()[0];
        assert_eq!(tool_names(body), expected, "{setting} {args:?}");
        assert_eq!(body.get("tools").is_none(), expected.is_empty(), "no empty list");
    }
}

#[tokio::test]
async fn commands_know_their_session_and_run_with_the_users_prefix() {
    let bed = Bed::new([
        Turn::tool("c", "bash", json!({"command": "env > seen; echo \"$PREFIX\" >> seen"})),
        Turn::from("Done."),
    ])
    .await;
    bed.settings(&json!({"shellCommandPrefix": "export PREFIX=by-prefix"}));
    let args = ["--model", "fx-openai/m-think", "--thinking", "high", "-p", "hi"];
    assert_eq!(bed.pi(args).env("MINE", "kept").run().await.code, Some(0));
    let seen = bed.scratch.read("ws/seen").unwrap();
    let seen: Vec<&str> = seen.lines().collect();
    let file = bed.session_file();
    let id = bed.session()[0]["id"].as_str().unwrap().to_owned();
    for expected in [
        format!("PI_SESSION_ID={id}"),
        format!("PI_SESSION_FILE={}", file.display()),
        "PI_PROVIDER=fx-openai".to_owned(),
        "PI_MODEL=m-think".to_owned(),
        "PI_REASONING_LEVEL=high".to_owned(),
        "AI_AGENT=pi".to_owned(),
        "PI_CODING_AGENT=true".to_owned(),
        "PI_SKIP_VERSION_CHECK=1".to_owned(),
        "MINE=kept".to_owned(),
        "by-prefix".to_owned(),
    ] {
        assert!(seen.contains(&expected.as_str()), "{expected} in {seen:?}");
    }
    let path = seen.iter().find(|line| line.starts_with("PATH=")).unwrap();
    let bin = bed.scratch.agent().join("bin");
    assert!(path.starts_with(&format!("PATH={}", bin.display())), "{path}");
}

#[tokio::test]
async fn a_session_that_is_not_kept_has_no_file_for_commands() {
    let command = json!({"command": "echo ${PI_SESSION_FILE-none} > seen"});
    let bed = Bed::new([Turn::tool("c", "bash", command), Turn::from("Done.")]).await;
    bed.pi(["--no-session", "-p", "hi"]).run().await;
    assert_eq!(bed.scratch.read("ws/seen").unwrap(), "none\n");
}

#[tokio::test]
async fn no_env_file_of_the_project_is_read() {
    let bed = Bed::idle().await;
    bed.scratch.write("agent/models.json", "{}").unwrap();
    bed.scratch.write("ws/.env", "ANTHROPIC_API_KEY=from-file\n").unwrap();
    let ended = bed.pi(["--model", "anthropic/claude-sonnet-4-5", "-p", "hi"]).run().await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("ANTHROPIC_API_KEY"), "{}", ended.stderr);
}

#[tokio::test]
async fn a_read_only_home_can_still_be_listed() {
    let bed = Bed::new(Vec::<Reply>::new()).await;
    let agent = bed.scratch.agent();
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o500)).unwrap();
    let before = std::fs::read_dir(&agent).unwrap().count();
    let ended = bed.pi(["--list-models", "fx-"]).run().await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert_eq!(std::fs::read_dir(&agent).unwrap().count(), before);
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o700)).unwrap();
}

//! The table of environment variables, which is also the source of their page in the manual.
//!
//! Owns: names and descriptions. Never: reads a value.

pub const AGENT_DIR: &str = "PI_CODING_AGENT_DIR";
pub const SESSION_DIR: &str = "PI_CODING_AGENT_SESSION_DIR";
pub const PACKAGE_DIR: &str = "PI_PACKAGE_DIR";
pub const OFFLINE: &str = "PI_OFFLINE";
pub const TELEMETRY: &str = "PI_TELEMETRY";
pub const CACHE_RETENTION: &str = "PI_CACHE_RETENTION";
pub const HTTP_PROXY: &str = "HTTP_PROXY";
pub const HTTPS_PROXY: &str = "HTTPS_PROXY";
pub const ALL_PROXY: &str = "ALL_PROXY";
pub const NO_PROXY: &str = "NO_PROXY";
pub const EXTRA_CA_CERTS: &str = "NODE_EXTRA_CA_CERTS";
/// Read by the TLS library itself.
pub const SSL_CERT_FILE: &str = "SSL_CERT_FILE";
pub const TMPDIR: &str = "TMPDIR";

pub const AI_AGENT: &str = "AI_AGENT";
pub const INSIDE_PI: &str = "PI_CODING_AGENT";
pub const SKIP_VERSION_CHECK: &str = "PI_SKIP_VERSION_CHECK";
pub const SESSION_ID: &str = "PI_SESSION_ID";
pub const SESSION_FILE: &str = "PI_SESSION_FILE";
pub const PROVIDER: &str = "PI_PROVIDER";
pub const MODEL: &str = "PI_MODEL";
pub const REASONING_LEVEL: &str = "PI_REASONING_LEVEL";

/// A variable and what it does, in one line of Markdown.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    pub name: &'static str,
    pub effect: &'static str,
}

const fn variable(name: &'static str, effect: &'static str) -> Variable {
    Variable { name, effect }
}

/// Variables pi reads. Provider keys stand in the table of providers.
pub const READ: [Variable; 13] = [
    variable(AGENT_DIR, "Directory of the user's configuration; default `~/.pi/agent`."),
    variable(
        SESSION_DIR,
        "Directory of session files; `--session-dir` wins over it, it wins over the setting `sessionDir`.",
    ),
    variable(PACKAGE_DIR, "Directory that holds the `docs` pi tells the model about."),
    variable(
        OFFLINE,
        "`1`, `true` or `yes`: no network traffic except requests to the model. Same as `--offline`.",
    ),
    variable(
        TELEMETRY,
        "`1`/`true`/`yes` or `0`/`false`/`no`: whether requests carry headers that name pi to providers with usage statistics. Wins over the setting `enableInstallTelemetry`.",
    ),
    variable(CACHE_RETENTION, "`long` asks providers to keep prompts cached longer."),
    variable(HTTP_PROXY, "Proxy for `http://` addresses. Lower case works too."),
    variable(HTTPS_PROXY, "Proxy for `https://` addresses. Lower case works too."),
    variable(ALL_PROXY, "Proxy where no other one is named. Lower case works too."),
    variable(NO_PROXY, "Comma-separated hosts reached without a proxy. Lower case works too."),
    variable(EXTRA_CA_CERTS, "PEM file of certificate authorities trusted in addition."),
    variable(
        SSL_CERT_FILE,
        "PEM file of certificate authorities trusted in place of the built-in ones.",
    ),
    variable(
        TMPDIR,
        "Directory of full command outputs and of the demo's project; default `/tmp`.",
    ),
];

/// Variables of the TypeScript pi that belong to what this build does not have yet. Nothing reads them.
pub const NOT_YET: [Variable; 16] = [
    variable("PI_SKIP_VERSION_CHECK", "No look for a newer version. This build never looks."),
    variable("PI_SELF_UPDATE_COMMAND", "Command of `pi update`."),
    variable("PI_SHARE_VIEWER_URL", "Address of the viewer for shared sessions."),
    variable("PI_RADIUS_GATEWAY", "Address of the Radius service."),
    variable("PI_CODEMODE_MAX_WORKERS", "Scripts of the `codemode` tool that run at once."),
    variable("PI_CLEAR_ON_SHRINK", "Terminal: as the setting `terminal.clearOnShrink`."),
    variable("PI_HARDWARE_CURSOR", "Terminal: as the setting `showHardwareCursor`."),
    variable("PI_HYPERLINKS", "Terminal: as the setting `terminal.hyperlinks`."),
    variable("PI_IMAGE_PROTOCOL", "Terminal: as the setting `terminal.images`."),
    variable("PI_TRUE_COLOR", "Terminal: as the setting `terminal.trueColor`."),
    variable("PI_CLIPBOARD_OSC52", "Terminal: copy through the terminal too."),
    variable("PI_PROGRAM_STATUS", "Terminal: report what pi is doing."),
    variable("PI_TUI_ESC_TIMEOUT", "Terminal: how long a lone Escape is waited upon."),
    variable("PI_TUI_WRITE_LOG", "Terminal: file that gets all that is drawn."),
    variable("VISUAL", "Editor of long prompts."),
    variable("EDITOR", "The same where `VISUAL` is not set."),
];

/// Variables pi sets for the commands it runs.
pub const SET_FOR_CHILDREN: [Variable; 8] = [
    variable(AI_AGENT, "`pi`: which agent started the command."),
    variable(INSIDE_PI, "`true` inside pi."),
    variable(SKIP_VERSION_CHECK, "`1` when pi is offline, so that a pi inside pi is quiet too."),
    variable(SESSION_ID, "Id of the session (commands of the model only, as all below)."),
    variable(SESSION_FILE, "Absolute path of the session file; absent when nothing is saved."),
    variable(PROVIDER, "Provider of the current model."),
    variable(MODEL, "Id of the current model."),
    variable(REASONING_LEVEL, "Current thinking level."),
];

/// The manual's page on environment variables.
pub fn docs_page() -> String {
    format!(
        "# Environment variables\n\n\
         ## Read by pi\n\n\
         An empty variable counts as not set. pi loads no `.env` files.\n\n\
         {}\n\
         API keys of providers have variables of their own, listed with the providers.\n\n\
         ## Set for commands pi runs\n\n\
         {}\n\
         ## Not used by this build yet\n\n\
         The TypeScript pi reads these; here they change nothing.\n\n\
         {}",
        table(&READ),
        table(&SET_FOR_CHILDREN),
        table(&NOT_YET)
    )
}

fn table(variables: &[Variable]) -> String {
    let rows = variables.iter().map(|v| format!("| `{}` | {} |\n", v.name, v.effect));
    std::iter::once("| Variable | Effect |\n|---|---|\n".to_owned()).chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_is_up_to_date() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/environment-variables.md");
        pi_test::assert_generated(page, &docs_page());
    }

    #[test]
    fn every_variable_of_pi_is_listed_once() {
        let names: Vec<_> = READ.iter().chain(&NOT_YET).map(|variable| variable.name).collect();
        let unique: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(unique.len(), names.len());
        for name in [
            "PI_CODING_AGENT_DIR",
            "PI_CODING_AGENT_SESSION_DIR",
            "PI_PACKAGE_DIR",
            "PI_OFFLINE",
            "PI_SKIP_VERSION_CHECK",
            "PI_TELEMETRY",
            "PI_CACHE_RETENTION",
            "PI_SHARE_VIEWER_URL",
            "PI_RADIUS_GATEWAY",
            "PI_SELF_UPDATE_COMMAND",
            "PI_CLEAR_ON_SHRINK",
            "PI_HARDWARE_CURSOR",
            "PI_CLIPBOARD_OSC52",
            "PI_HYPERLINKS",
            "PI_PROGRAM_STATUS",
            "PI_IMAGE_PROTOCOL",
            "PI_TRUE_COLOR",
            "PI_TUI_ESC_TIMEOUT",
            "PI_TUI_WRITE_LOG",
            "PI_CODEMODE_MAX_WORKERS",
            "VISUAL",
            "EDITOR",
            "HTTP_PROXY",
            "HTTPS_PROXY",
        ] {
            assert!(names.contains(&name), "{name}");
        }
    }
}

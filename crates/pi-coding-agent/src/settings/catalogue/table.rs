//! The rows. Defaults and ranges are those of the TypeScript pi 1.6.

use super::Fallback::{EmptyList, Number, Switch, Text, Told};
use super::{Kind, Section, Setting};

const LEVEL: Kind = Kind::OneOf(&["off", "minimal", "low", "medium", "high", "xhigh", "max"]);
const QUEUE: Kind = Kind::OneOf(&["all", "one-at-a-time"]);
const TEXTS: Kind = Kind::List(&Kind::Text);
const SWITCH_OR_AUTO: Kind = Kind::Either(&[Kind::Switch, Kind::OneOf(&["auto"])]);

pub const SECTIONS: &[Section] = &[
    Section {
        title: "Models and thinking",
        intro: "",
        settings: &[
            Setting::new(
                "defaultProvider",
                Kind::Text,
                Told("none"),
                "Provider of the model of new sessions. Without `defaultModel` it says nothing.",
            ),
            Setting::new(
                "defaultModel",
                Kind::Text,
                Told("the first model with a key"),
                "Exact id of the model of new sessions, at `defaultProvider`.",
            ),
            Setting::new(
                "defaultThinkingLevel",
                LEVEL,
                Text("medium"),
                "How hard models think where nothing else says so.",
            ),
            Setting::new(
                "modelThinkingLevels",
                Kind::Entries(&LEVEL),
                Told("none"),
                "Level by `provider/id`; beats the level of a resumed session.",
            ),
            Setting::new(
                "thinkingBudgets.minimal",
                Kind::Number,
                Told("`1024`"),
                "Tokens for thinking at this level, at models that take a budget.",
            ),
            Setting::new(
                "thinkingBudgets.low",
                Kind::Number,
                Told("`2048`"),
                "The same at this level.",
            ),
            Setting::new(
                "thinkingBudgets.medium",
                Kind::Number,
                Told("`8192`"),
                "The same at this level.",
            ),
            Setting::new(
                "thinkingBudgets.high",
                Kind::Number,
                Told("`16384`"),
                "The same at this level and above.",
            ),
            Setting::new(
                "enabledModels",
                TEXTS,
                Told("every model"),
                "Patterns as in [`--models`](models.md#--models-and-enabledmodels): what a new session chooses from and what is cycled through.",
            ),
        ],
    },
    Section {
        title: "Queues",
        intro: "What is said to a model at work. Print and JSON mode queue nothing.",
        settings: &[
            Setting::new(
                "steeringMode",
                QUEUE,
                Text("one-at-a-time"),
                "How many waiting messages go in between two turns.",
            ),
            Setting::new(
                "followUpMode",
                QUEUE,
                Text("one-at-a-time"),
                "How many waiting messages go in when the model would stop.",
            ),
        ],
    },
    Section {
        title: "Tools",
        intro: "",
        settings: &[
            Setting::new(
                "defaultTools",
                TEXTS,
                Told("`read`, `bash`, `edit`, `write`"),
                "Tools a session starts with; or only `+name` and `-name` entries, which change the default. Such a list of a project is added to yours.",
            ),
            Setting::new(
                "shellPath",
                Kind::Text,
                Told("`/bin/bash`, else `bash` or `sh` of the `PATH`"),
                "Shell for commands; `~` allowed.",
            ),
            Setting::new(
                "shellCommandPrefix",
                Kind::Text,
                Told("none"),
                "Line put before every command.",
            ),
            Setting::new(
                "images.autoResize",
                Kind::Switch,
                Switch(true),
                "Bring images down to what models take.",
            ),
            Setting::new(
                "images.blockImages",
                Kind::Switch,
                Switch(false),
                "Never send images; a note stands in for them.",
            ),
            Setting::new(
                "codemode.mode",
                Kind::OneOf(&["on", "only"]),
                Text("on"),
                "Whether tools are offered beside scripts that call them, or through scripts alone.",
            )
            .later(),
            Setting::new(
                "codemode.inlineBudget",
                Kind::Number,
                Number(3000),
                "Tokens the list of callable tools may take.",
            )
            .later(),
        ],
    },
    Section {
        title: "Network",
        intro: "",
        settings: &[
            Setting::new(
                "httpProxy",
                Kind::Text,
                Told("none"),
                "Proxy for `http` and `https` where the environment names none.",
            )
            .user_only(),
            Setting::new(
                "httpIdleTimeoutMs",
                Kind::Timeout,
                Number(300_000),
                "Longest silence of a server; `0` and `disabled` wait for ever.",
            ),
            Setting::new(
                "enableInstallTelemetry",
                Kind::Switch,
                Switch(true),
                "Send headers that name pi to OpenRouter, NVIDIA and OpenCode. `PI_TELEMETRY` wins; offline is off.",
            ),
            Setting::new(
                "transport",
                Kind::OneOf(&["auto", "sse", "websocket", "websocket-cached"]),
                Text("auto"),
                "How to talk to providers that can be reached in several ways.",
            )
            .later(),
            Setting::new(
                "websocketConnectTimeoutMs",
                Kind::Timeout,
                Number(15_000),
                "Longest wait for a connection; `0` and `disabled` wait for ever.",
            )
            .later(),
            Setting::new(
                "cacheWarming",
                Kind::OneOf(&["off", "streaming", "idle"]),
                Text("idle"),
                "When small requests keep a provider's prompt cache alive: never, during runs, between runs too.",
            )
            .user_only()
            .later(),
        ],
    },
    Section {
        title: "Retries",
        intro: "`retry.provider` is about single HTTP requests, the rest about whole answers, whose\n\
                retries are seen in the events and in the session.",
        settings: &[
            Setting::new("retry.enabled", Kind::Switch, Switch(true), "Try failed answers again."),
            Setting::new("retry.maxRetries", Kind::Number, Number(3), "Attempts after the first."),
            Setting::new(
                "retry.baseDelayMs",
                Kind::Number,
                Number(2000),
                "Wait before the first retry; doubles with each.",
            ),
            Setting::new(
                "retry.maxAgentDelayMs",
                Kind::Number,
                Number(60_000),
                "Longest wait, also when the server asks for more.",
            ),
            Setting::new(
                "retry.provider.timeoutMs",
                Kind::Number,
                Told("`httpIdleTimeoutMs`"),
                "Longest silence of a provider.",
            ),
            Setting::new(
                "retry.provider.maxRetries",
                Kind::Number,
                Number(0),
                "Attempts after the first.",
            ),
            Setting::new(
                "retry.provider.maxRetryDelayMs",
                Kind::Number,
                Number(60_000),
                "A server that asks for a longer wait fails the request; `0` takes any.",
            ),
        ],
    },
    Section {
        title: "Long conversations",
        intro: "See [compaction.md](compaction.md). Unlike everywhere else, a size that makes no sense is an error\n\
                here: it is a whole number from 0 to 2^53 - 1.",
        settings: &[
            Setting::new(
                "compaction.enabled",
                Kind::Switch,
                Switch(true),
                "Whether it happens by itself.",
            ),
            Setting::new(
                "compaction.reserveTokens",
                Kind::Size,
                Number(16_384),
                "Free room in the window below which it happens.",
            ),
            Setting::new(
                "compaction.keepRecentTokens",
                Kind::Size,
                Number(20_000),
                "About how much of the newest conversation stays word for word.",
            ),
            Setting::new(
                "compaction.modelOverrides",
                Kind::Entries(&Kind::Fields(&[
                    ("reserveTokens", Kind::Size),
                    ("keepRecentTokens", Kind::Size),
                ])),
                Told("none"),
                "The two sizes by `provider/id`.",
            ),
            Setting::new(
                "branchSummary.reserveTokens",
                Kind::Size,
                Number(16_384),
                "Room that the summary of a branch must leave free.",
            ),
            Setting::new(
                "branchSummary.skipPrompt",
                Kind::Switch,
                Switch(false),
                "Leave a branch without asking whether to summarise it.",
            )
            .later(),
        ],
    },
    Section {
        title: "Sessions and trust",
        intro: "",
        settings: &[
            Setting::new(
                "sessionDir",
                Kind::Text,
                Told("a folder per project in `~/.pi/agent/sessions`"),
                "One folder for all sessions; relative to where pi is started. A project's counts even before the project is trusted.",
            ),
            Setting::new(
                "defaultProjectTrust",
                Kind::OneOf(&["ask", "always", "never"]),
                Text("ask"),
                "[Trust](trust.md) in projects without a decision. This build cannot ask, so `ask` is no.",
            )
            .user_only(),
            Setting::new(
                "sessionShareDestination",
                Kind::OneOf(&["auto", "gist", "radius"]),
                Text("auto"),
                "Where `/share` puts a session.",
            )
            .later(),
        ],
    },
    Section {
        title: "Resources",
        intro: "Paths of yours start at `~/.pi/agent`, a project's at its `.pi`; `~` is home. `!glob` leaves out,\n\
                `+path` and `-path` take in and leave out exactly one. Lists of both scopes are joined.",
        settings: &[
            Setting::new(
                "packages",
                Kind::List(&Kind::Either(&[
                    Kind::Text,
                    Kind::Fields(&[
                        ("source", Kind::Text),
                        ("autoload", Kind::Switch),
                        ("extensions", TEXTS),
                        ("skills", TEXTS),
                        ("prompts", TEXTS),
                        ("themes", TEXTS),
                    ]),
                ])),
                EmptyList,
                "Installed packages to take resources from; see [skills.md](skills.md#packages).",
            ),
            Setting::new(
                "skills",
                Kind::Either(&[
                    TEXTS,
                    Kind::Fields(&[
                        ("customDirectories", TEXTS),
                        ("enableSkillCommands", Kind::Switch),
                    ]),
                ]),
                EmptyList,
                "Further [skills](skills.md). The object is the form of old versions.",
            ),
            Setting::new(
                "prompts",
                TEXTS,
                EmptyList,
                "Further [prompt templates](prompt-templates.md).",
            ),
            Setting::new("extensions", TEXTS, EmptyList, "Further extensions.").later(),
            Setting::new("themes", TEXTS, EmptyList, "Further themes.").later(),
            Setting::new(
                "enableSkillCommands",
                Kind::Switch,
                Switch(true),
                "Offer every skill as `/skill:name`.",
            )
            .later(),
            Setting::new(
                "npmCommand",
                TEXTS,
                Told("`npm`"),
                "Program and arguments that install packages.",
            )
            .later(),
        ],
    },
    Section {
        title: "Appearance",
        intro: "",
        settings: &[
            Setting::new(
                "theme",
                Kind::Text,
                Text("system"),
                "Colors of exported pages: a name, or `light/dark` names; see [export.md](export.md#themes).",
            ),
            Setting::new(
                "hideThinkingBlock",
                Kind::Switch,
                Switch(false),
                "Leave thinking out of what is shown.",
            )
            .later(),
            Setting::new(
                "showCacheMissNotices",
                Kind::Switch,
                Switch(false),
                "Tell when a provider's prompt cache was missed, and what it cost.",
            )
            .later(),
            Setting::new(
                "quietStartup",
                Kind::Either(&[Kind::Switch, Kind::OneOf(&["header"])]),
                Switch(false),
                "Begin without a list of what was loaded; `header` keeps the head. `--verbose` wins.",
            )
            .later(),
            Setting::new(
                "outputPad",
                Kind::Between(0, 1),
                Number(1),
                "Columns left free beside the conversation.",
            )
            .later(),
            Setting::new(
                "markdown.codeBlockIndent",
                Kind::Text,
                Text("  "),
                "What goes before each line of a code block.",
            )
            .later(),
            Setting::new(
                "markdown.mermaid",
                Kind::OneOf(&["off", "final", "streaming"]),
                Text("streaming"),
                "When diagrams are drawn: never, when complete, as they come.",
            )
            .later(),
        ],
    },
    Section {
        title: "Terminal",
        intro: "For the interactive mode.",
        settings: &[
            Setting::new(
                "tuiMode",
                Kind::OneOf(&["regular", "fullscreen"]),
                Text("fullscreen"),
                "Take the whole screen, or go on below the shell's lines.",
            )
            .later(),
            Setting::new(
                "fullscreenExitOutput",
                Kind::OneOf(&["transcript", "resume-hint"]),
                Text("transcript"),
                "What stays on the terminal afterwards.",
            )
            .later(),
            Setting::new(
                "fullscreenScrollbar",
                Kind::OneOf(&["auto", "always", "hidden"]),
                Text("auto"),
                "When the scroll bar is drawn.",
            )
            .later(),
            Setting::new(
                "fullscreenCopyOnSelect",
                Kind::Switch,
                Switch(true),
                "Copy what is selected.",
            )
            .later(),
            Setting::new(
                "fullscreenWheelScrollLines",
                Kind::Either(&[Kind::OneOf(&["auto"]), Kind::Between(1, 100)]),
                Text("auto"),
                "Lines a step of the wheel moves.",
            )
            .later(),
            Setting::new(
                "editorPaddingX",
                Kind::Between(0, 3),
                Number(0),
                "Columns left free beside the editor.",
            )
            .later(),
            Setting::new(
                "autocompleteMaxVisible",
                Kind::Between(3, 20),
                Number(5),
                "Completions shown at once.",
            )
            .later(),
            Setting::new(
                "showHardwareCursor",
                Kind::Switch,
                Switch(false),
                "Use the terminal's cursor in place of a drawn one.",
            )
            .later(),
            Setting::new(
                "externalEditor",
                Kind::Text,
                Told("`$VISUAL`, `$EDITOR`, `nano`"),
                "Program that edits long prompts.",
            )
            .later(),
            Setting::new(
                "doubleEscapeAction",
                Kind::OneOf(&["tree", "fork", "none"]),
                Text("tree"),
                "What Escape twice in an empty editor opens.",
            )
            .later(),
            Setting::new(
                "treeFilterMode",
                Kind::OneOf(&["default", "no-tools", "user-only", "labeled-only", "all"]),
                Text("default"),
                "Which entries `/tree` shows at first.",
            )
            .later(),
            Setting::new(
                "terminal.showImages",
                Kind::Switch,
                Switch(true),
                "Draw images where the terminal can.",
            )
            .later(),
            Setting::new(
                "terminal.imageWidthCells",
                Kind::Number,
                Number(60),
                "Width of images in cells.",
            )
            .later(),
            Setting::new(
                "terminal.clearOnShrink",
                Kind::Switch,
                Switch(false),
                "Clear lines that are no longer needed.",
            )
            .later(),
            Setting::new(
                "terminal.showTerminalProgress",
                Kind::Switch,
                Switch(false),
                "Show in the terminal's tab that work is going on.",
            )
            .later(),
            Setting::new(
                "terminal.hyperlinks",
                SWITCH_OR_AUTO,
                Text("auto"),
                "Whether the terminal can show links.",
            )
            .later(),
            Setting::new(
                "terminal.images",
                Kind::Either(&[Kind::OneOf(&["kitty", "iterm2", "auto"]), Kind::No]),
                Text("auto"),
                "Which image protocol the terminal knows.",
            )
            .later(),
            Setting::new(
                "terminal.trueColor",
                SWITCH_OR_AUTO,
                Text("auto"),
                "Whether the terminal has 24-bit colors.",
            )
            .later(),
        ],
    },
    Section {
        title: "Updates and notices",
        intro: "",
        settings: &[
            Setting::new(
                "selfUpdateCommand",
                TEXTS,
                Told("none"),
                "Program and arguments of `pi update`, with `{packageName}`, `{version}` and `{installSpec}`.",
            )
            .user_only()
            .later(),
            Setting::new(
                "collapseChangelog",
                Kind::Switch,
                Switch(false),
                "Show only the head of the changelog after an update.",
            )
            .later(),
            Setting::new(
                "enableAnalytics",
                Kind::Switch,
                Switch(false),
                "Send usage data. This build sends none whatever is said here.",
            )
            .later(),
            Setting::new(
                "warnings.anthropicExtraUsage",
                Kind::Switch,
                Switch(true),
                "Warn when an Anthropic subscription may be billed beyond its limits.",
            )
            .later(),
        ],
    },
    Section {
        title: "Kept by pi itself",
        intro: "The TypeScript pi writes these. This build leaves them as they are.",
        settings: &[
            Setting::new(
                "lastChangelogVersion",
                Kind::Text,
                Told("none"),
                "Version whose changelog was shown last.",
            )
            .later(),
            Setting::new(
                "extensionChangelogVersions",
                Kind::Entries(&Kind::Text),
                Told("none"),
                "The same by extension package.",
            )
            .later(),
            Setting::new("deviceId", Kind::Text, Told("none"), "Id of this installation.")
                .user_only()
                .later(),
            Setting::new("trackingId", Kind::Text, Told("none"), "Id for usage data.")
                .user_only()
                .later(),
        ],
    },
];

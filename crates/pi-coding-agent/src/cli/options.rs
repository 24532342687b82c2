//! Every option of pi, once: spelling, value, meaning, and whether this build has it.
//!
//! Owns: the table that parsing, `--help`, completions and the manual page are made of. A new option
//! is a row here; [`super::resolve`] reads its value. Never: what an option does.

/// Options that belong together, under the title `--help` gives them.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) title: &'static str,
    pub(super) options: &'static [Opt],
}

#[derive(Debug)]
pub(super) struct Opt {
    /// With its two dashes.
    pub(super) long: &'static str,
    /// With its dash. It is a whole word, of one letter or several: `-nt` is not `-n -t`.
    pub(super) short: Option<&'static str>,
    pub(super) takes: Takes,
    pub(super) standing: Standing,
    /// Whether all its values count, or only the last.
    pub(super) adds_up: bool,
    /// One line; may be longer than a line of a terminal.
    pub(super) help: &'static str,
}

/// How many values an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    One(Value),
    /// One, or none.
    Perhaps(Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value {
    /// As the help names it.
    pub(super) name: &'static str,
    pub(super) kind: ValueKind,
}

/// What a shell can offer for a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    Text,
    /// Nothing else is valid.
    OneOf(&'static [&'static str]),
    File,
    Directory,
}

/// What this build does with an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Works,
    /// Accepted: there is nothing it could change yet.
    NoEffect,
    /// Refused, as its feature is missing.
    Missing {
        /// What to do without it.
        instead: &'static str,
    },
}

pub(super) const MODES: &[&str] = &["text", "json", "rpc"];
pub(super) const SHELLS: &[&str] = &["bash", "zsh", "fish"];
const LEVELS: &[&str] = &["off", "minimal", "low", "medium", "high", "xhigh", "max"];

/// In the order of the help.
pub(super) const GROUPS: &[Group] = &[
    Group {
        title: "Output",
        options: &[
            Opt::switch("--print", "Last answer on standard output, then exit").short("-p"),
            Opt::value(
                "--mode",
                "mode",
                "text (default), json: one event per line, or rpc: commands as lines of JSON on standard input",
            )
            .one_of(MODES),
            Opt::switch("--verbose", "Say more at the start, also what in the settings does not count; wins over quietStartup"),
        ],
    },
    Group {
        title: "Model",
        options: &[
            Opt::value(
                "--model",
                "pattern",
                "Id or name, also provider/id; :<level> sets the thinking level",
            ),
            Opt::value("--provider", "name", "Look for --model at this provider only"),
            Opt::value(
                "--models",
                "patterns",
                "Without --model, choose from these: comma-separated, with globs and :<level>",
            ),
            Opt::value("--thinking", "level", "off, minimal, low, medium, high, xhigh or max")
                .one_of(LEVELS),
            Opt::value("--api-key", "key", "Use this key for the run; it is not stored"),
            Opt::value("--list-models", "search", "List the usable models and exit").perhaps(),
        ],
    },
    Group {
        title: "Session",
        options: &[
            Opt::switch("--continue", "Go on with the newest session of this directory").short("-c"),
            Opt::value(
                "--session",
                "path|id",
                "Open a session file, or a session by (part of) its id",
            )
            .file(),
            Opt::value("--session-id", "id", "Open the session with exactly this id, or create it"),
            Opt::value("--fork", "path|id", "Go on with a copy of a session, in this directory").file(),
            Opt::value("--session-dir", "dir", "Where sessions are kept").directory(),
            Opt::switch("--no-session", "Keep nothing on disk"),
            Opt::value("--name", "name", "Name the session").short("-n"),
            Opt::switch("--resume", "Choose a session from a list").short("-r").missing(
                "Go on with the newest session with -c, or with any other with --session <path|id>.",
            ),
            Opt::value("--export", "file", "Write a session file as an HTML page, perhaps to a named file, and exit").file(),
        ],
    },
    Group {
        title: "Tools",
        options: &[
            Opt::value(
                "--tools",
                "list",
                "Only these (names, * patterns), or changes: +write,-bash",
            )
            .short("-t"),
            Opt::value("--exclude-tools", "list", "Never these (names, * patterns)").short("-xt"),
            Opt::switch("--no-tools", "No tools").short("-nt"),
            Opt::switch("--no-builtin-tools", "No built-in tools (this build has no others)")
                .short("-nbt"),
        ],
    },
    Group {
        title: "Instructions",
        options: &[
            Opt::value("--system-prompt", "text|file", "Replace the system prompt").file(),
            Opt::value(
                "--append-system-prompt",
                "text|file",
                "Add to the system prompt; may be repeated",
            )
            .file()
            .adds_up(),
            Opt::switch("--no-context-files", "Leave out AGENTS.md and CLAUDE.md").short("-nc"),
            Opt::value("--skill", "path", "Load a skill, or every one in a directory; may be repeated")
                .file()
                .adds_up(),
            Opt::switch("--no-skills", "No skills but those of --skill").short("-ns"),
            Opt::value(
                "--prompt-template",
                "path",
                "Load a prompt template, or a directory of them; may be repeated",
            )
            .file()
            .adds_up(),
            Opt::switch("--no-prompt-templates", "No templates but those of --prompt-template")
                .short("-np"),
        ],
    },
    Group {
        title: "Extensions",
        options: &[
            Opt::value("--extension", "path", "Load an extension").file().short("-e").missing(
                "Run without it; tools of your own can be added by a Rust program, see docs/embedding.md.",
            ),
            Opt::switch("--no-extensions", "Load no extensions").short("-ne").without_effect(),
            Opt::switch("--no-mcp", "Connect no MCP servers").without_effect(),
        ],
    },
    Group {
        title: "Project and network",
        options: &[
            Opt::switch("--approve", "Trust the project's own settings and prompts for this run")
                .short("-a"),
            Opt::switch("--no-approve", "Ignore them for this run").short("-na"),
            Opt::switch("--offline", "No network traffic except requests to the model"),
        ],
    },
    Group {
        title: "Terminal",
        options: &[
            Opt::value("--theme", "path", "Load a theme").file().without_effect().adds_up(),
            Opt::value("--use-theme", "name", "Theme of this run").without_effect(),
            Opt::switch("--no-themes", "Look for no themes").without_effect(),
            Opt::value("--tui-mode", "mode", "regular or fullscreen")
                .one_of(&["regular", "fullscreen"])
                .without_effect(),
        ],
    },
    Group {
        title: "About pi",
        options: &[
            Opt::switch("--help", "This text").short("-h"),
            Opt::switch("--version", "The version number").short("-v"),
            Opt::value("--completions", "shell", "Completions for bash, zsh or fish, to be sourced")
                .one_of(SHELLS),
            Opt::switch("--man-page", "The manual page, for man -l -"),
        ],
    },
];

/// All options, in the order of the help.
pub(super) fn all() -> impl Iterator<Item = &'static Opt> {
    GROUPS.iter().flat_map(|group| group.options)
}

/// The option somebody spelled `word`, long or short.
pub(super) fn find(word: &str) -> Option<&'static Opt> {
    all().find(|option| option.long == word || option.short == Some(word))
}

impl Opt {
    const fn switch(long: &'static str, help: &'static str) -> Self {
        let (takes, standing) = (Takes::Nothing, Standing::Works);
        Self { long, short: None, takes, standing, adds_up: false, help }
    }

    const fn value(long: &'static str, name: &'static str, help: &'static str) -> Self {
        let mut option = Self::switch(long, help);
        option.takes = Takes::One(Value { name, kind: ValueKind::Text });
        option
    }

    const fn short(mut self, short: &'static str) -> Self {
        self.short = Some(short);
        self
    }

    const fn one_of(self, values: &'static [&'static str]) -> Self {
        self.kind(ValueKind::OneOf(values))
    }

    const fn file(self) -> Self {
        self.kind(ValueKind::File)
    }

    const fn directory(self) -> Self {
        self.kind(ValueKind::Directory)
    }

    const fn kind(mut self, kind: ValueKind) -> Self {
        if let Takes::One(Value { name, .. }) = self.takes {
            self.takes = Takes::One(Value { name, kind });
        }
        self
    }

    const fn perhaps(mut self) -> Self {
        if let Takes::One(value) = self.takes {
            self.takes = Takes::Perhaps(value);
        }
        self
    }

    const fn adds_up(mut self) -> Self {
        self.adds_up = true;
        self
    }

    const fn without_effect(mut self) -> Self {
        self.standing = Standing::NoEffect;
        self
    }

    const fn missing(mut self, instead: &'static str) -> Self {
        self.standing = Standing::Missing { instead };
        self
    }

    /// Whether this build refuses it.
    pub(super) const fn is_missing(&self) -> bool {
        matches!(self.standing, Standing::Missing { .. })
    }

    pub(super) const fn works(&self) -> bool {
        matches!(self.standing, Standing::Works)
    }

    /// Short form and long one, whichever there are.
    pub(super) fn spellings(&self) -> impl Iterator<Item = &'static str> {
        self.short.into_iter().chain([self.long])
    }

    pub(super) const fn value_of(&self) -> Option<Value> {
        match self.takes {
            Takes::Nothing => None,
            Takes::One(value) | Takes::Perhaps(value) => Some(value),
        }
    }

    /// As the help writes it: `-n, --name <name>`, `--list-models [search]`.
    pub(super) fn usage(&self) -> String {
        let spellings = self.spellings().collect::<Vec<_>>().join(", ");
        match self.takes {
            Takes::Nothing => spellings,
            Takes::One(value) => format!("{spellings} <{}>", value.name),
            Takes::Perhaps(value) => format!("{spellings} [{}]", value.name),
        }
    }
}

//! Completions for bash, also the 3.2 that macOS has.

use std::fmt::Write as _;

use super::super::options::{Opt, ValueKind};

pub(super) fn completions() -> String {
    let spellings: Vec<&str> = super::offered().flat_map(Opt::spellings).collect();
    let mut cases = String::new();
    for option in super::offered() {
        let Some(value) = option.value_of() else { continue };
        let offer = match value.kind {
            ValueKind::Text => ":".to_owned(),
            ValueKind::OneOf(values) => format!("_pi_offer -W '{}'", values.join(" ")),
            ValueKind::File => "_pi_offer -f".to_owned(),
            ValueKind::Directory => "_pi_offer -d".to_owned(),
        };
        let pattern: Vec<&str> = option.spellings().collect();
        _ = writeln!(cases, "            {}) {offer}; return ;;", pattern.join("|"));
    }
    TEMPLATE.replace("CASES\n", &cases).replace("OPTIONS", &spellings.join(" "))
}

/// Bash may split words at `=`, `@` and `:`. It completes what stands behind, but a `@` it splits off
/// is replaced together with what follows. Names behind it are quoted here, as bash would quote the
/// `@` too.
const TEMPLATE: &str = r#"# bash completion for pi

_pi_offer() {
    case $1 in -f|-d) compopt -o filenames 2>/dev/null ;; esac
    local line
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$@" -- "$cur")
}

_pi_offer_at_files() {
    local path tilde='~'
    while IFS= read -r path; do
        if [[ -d ${path/#\~\//$HOME/} ]]; then path+=/; fi
        printf -v path %q "$path"
        COMPREPLY+=("@${path/#\\~/$tilde}")
    done < <(compgen -f -- "$cur")
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == */ ]]; then
        compopt -o nospace 2>/dev/null
    fi
}

_pi() {
    COMPREPLY=()
    local cur=${COMP_WORDS[COMP_CWORD]} before=$((COMP_CWORD - 1)) word
    if [[ $cur == [=@] ]]; then
        cur='' before=$COMP_CWORD
    fi
    local previous=${COMP_WORDS[before]}
    if [[ $previous == @ || $cur == @* ]]; then
        cur=${cur#@}
        _pi_offer_at_files
        return
    fi
    for word in "${COMP_WORDS[@]:1:before}"; do
        if [[ $word == -- ]]; then
            return
        fi
    done
    if [[ $previous == = ]]; then
        previous=${COMP_WORDS[before - 1]}
    fi
    case $previous in
CASES
    esac
    if [[ $cur == -* ]]; then
        _pi_offer -W 'OPTIONS'
    fi
}

complete -F _pi pi
"#;

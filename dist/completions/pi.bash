# bash completion for pi

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
            --mode) _pi_offer -W 'text json rpc'; return ;;
            --model) :; return ;;
            --provider) :; return ;;
            --models) :; return ;;
            --thinking) _pi_offer -W 'off minimal low medium high xhigh max'; return ;;
            --api-key) :; return ;;
            --list-models) :; return ;;
            --session) _pi_offer -f; return ;;
            --session-id) :; return ;;
            --fork) _pi_offer -f; return ;;
            --session-dir) _pi_offer -d; return ;;
            -n|--name) :; return ;;
            --export) _pi_offer -f; return ;;
            -t|--tools) :; return ;;
            -xt|--exclude-tools) :; return ;;
            --system-prompt) _pi_offer -f; return ;;
            --append-system-prompt) _pi_offer -f; return ;;
            --skill) _pi_offer -f; return ;;
            --prompt-template) _pi_offer -f; return ;;
            --theme) _pi_offer -f; return ;;
            --use-theme) :; return ;;
            --tui-mode) _pi_offer -W 'regular fullscreen'; return ;;
            --completions) _pi_offer -W 'bash zsh fish'; return ;;
    esac
    if [[ $cur == -* ]]; then
        _pi_offer -W '-p --print --mode --verbose --model --provider --models --thinking --api-key --list-models -c --continue --session --session-id --fork --session-dir --no-session -n --name --export -t --tools -xt --exclude-tools -nt --no-tools -nbt --no-builtin-tools --system-prompt --append-system-prompt -nc --no-context-files --skill -ns --no-skills --prompt-template -np --no-prompt-templates -ne --no-extensions --no-mcp -a --approve -na --no-approve --offline --theme --use-theme --no-themes --tui-mode -h --help -v --version --completions --man-page'
    fi
}

complete -F _pi pi

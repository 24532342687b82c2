# fish completion for pi

function __pi_at_files
    set -l path (string sub -s 2 -- (commandline -ct))
    for file in (__fish_complete_path "$path")
        echo "@$file"
    end
end

complete -c pi -f
complete -c pi -n 'string match -q -- "@*" (commandline -ct)' -a '(__pi_at_files)'
complete -c pi -s p -l print -d 'Last answer on standard output, then exit'
complete -c pi -l mode -x -a 'text json rpc' -d 'text (default), json: one event per line, or rpc: commands as lines of JSON on standard input'
complete -c pi -l verbose -d 'Say more at the start, also what in the settings does not count; wins over quietStartup'
complete -c pi -l model -x -d 'Id or name, also provider/id; :<level> sets the thinking level'
complete -c pi -l provider -x -d 'Look for --model at this provider only'
complete -c pi -l models -x -d 'Without --model, choose from these: comma-separated, with globs and :<level>'
complete -c pi -l thinking -x -a 'off minimal low medium high xhigh max' -d 'off, minimal, low, medium, high, xhigh or max'
complete -c pi -l api-key -x -d 'Use this key for the run; it is not stored'
complete -c pi -l list-models -d 'List the usable models and exit'
complete -c pi -s c -l continue -d 'Go on with the newest session of this directory'
complete -c pi -l session -r -F -d 'Open a session file, or a session by (part of) its id'
complete -c pi -l session-id -x -d 'Open the session with exactly this id, or create it'
complete -c pi -l fork -r -F -d 'Go on with a copy of a session, in this directory'
complete -c pi -l session-dir -x -a '(__fish_complete_directories)' -d 'Where sessions are kept'
complete -c pi -l no-session -d 'Keep nothing on disk'
complete -c pi -s n -l name -x -d 'Name the session'
complete -c pi -l export -r -F -d 'Write a session file as an HTML page, perhaps to a named file, and exit'
complete -c pi -s t -l tools -x -d 'Only these (names, * patterns), or changes: +write,-bash'
complete -c pi -o xt -l exclude-tools -x -d 'Never these (names, * patterns)'
complete -c pi -o nt -l no-tools -d 'No tools'
complete -c pi -o nbt -l no-builtin-tools -d 'No built-in tools (this build has no others)'
complete -c pi -l system-prompt -r -F -d 'Replace the system prompt'
complete -c pi -l append-system-prompt -r -F -d 'Add to the system prompt; may be repeated'
complete -c pi -o nc -l no-context-files -d 'Leave out AGENTS.md and CLAUDE.md'
complete -c pi -l skill -r -F -d 'Load a skill, or every one in a directory; may be repeated'
complete -c pi -o ns -l no-skills -d 'No skills but those of --skill'
complete -c pi -l prompt-template -r -F -d 'Load a prompt template, or a directory of them; may be repeated'
complete -c pi -o np -l no-prompt-templates -d 'No templates but those of --prompt-template'
complete -c pi -o ne -l no-extensions -d 'Load no extensions'
complete -c pi -l no-mcp -d 'Connect no MCP servers'
complete -c pi -s a -l approve -d 'Trust the project\'s own settings and prompts for this run'
complete -c pi -o na -l no-approve -d 'Ignore them for this run'
complete -c pi -l offline -d 'No network traffic except requests to the model'
complete -c pi -l theme -r -F -d 'Load a theme'
complete -c pi -l use-theme -x -d 'Theme of this run'
complete -c pi -l no-themes -d 'Look for no themes'
complete -c pi -l tui-mode -x -a 'regular fullscreen' -d 'regular or fullscreen'
complete -c pi -s h -l help -d 'This text'
complete -c pi -s v -l version -d 'The version number'
complete -c pi -l completions -x -a 'bash zsh fish' -d 'Completions for bash, zsh or fish, to be sourced'
complete -c pi -l man-page -d 'The manual page, for man -l -'

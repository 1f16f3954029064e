#!/bin/sh
# Installs memanto, offline model included, into an environment of its own and links the command into a
# folder of the PATH. Usage: install.sh [PYTHON] | install.sh --remove
set -eu

data="${XDG_DATA_HOME:-$HOME/.local/share}/memanto-cli"

# The first folder of the PATH that is yours to write, preferring the usual ones for a user's commands.
bin_folder() {
    for folder in "$HOME/.local/bin" "$HOME/bin" /usr/local/bin; do
        case ":$PATH:" in *":$folder:"*)
            if [ -w "$folder" ] || { [ ! -e "$folder" ] && mkdir -p "$folder" 2>/dev/null; }; then
                printf '%s\n' "$folder"
                return
            fi ;;
        esac
    done
    printf '%s\n' "$HOME/.local/bin"
}

# The folder of the user's memories, as memanto itself finds it.
home_folder() {
    case "${MEMANTO_HOME:-}" in
    "") ;;
    "~" | "~/"*) printf '%s\n' "$HOME${MEMANTO_HOME#"~"}" && return ;;
    *) printf '%s\n' "$MEMANTO_HOME" && return ;;
    esac
    if [ "$(uname)" = Darwin ]; then folder="$HOME/Library/Application Support"; else folder="$HOME/.local/share"; fi
    printf '%s\n' "${XDG_DATA_HOME:-$folder}/memanto"
}

if [ "${1:-}" = "--remove" ]; then
    if [ ! -e "$data" ]; then
        echo "Nothing to remove: there is no installation in $data"
        exit 0
    fi
    if [ -f "$data/link" ]; then
        link=$(cat "$data/link")
        if [ "$(readlink "$link" || true)" = "$data/venv/bin/memanto" ]; then rm -f "$link"; fi
    fi
    rm -rf "$data"
    home=$(home_folder)
    if [ -d "$home" ]; then echo "Removed. Your memories were left in $home"; else echo "Removed."; fi
    # Each connection names its client there; a file without one lists none.
    if grep -qs '"client"' "$home/connections.json"; then
        cat >&2 <<'END'
Coding tools are still connected: their hooks and MCP entries call a command that is gone now.
To disconnect them, install once more. `memanto connect list` shows them; `memanto connect remove` in each project,
and `memanto connect remove --global` for the whole user, take the entries out.
END
    fi
    exit 0
fi

python="${1:-python3}"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "Python 3.11 or newer is needed; try: make install PYTHON=python3.12" >&2
    exit 2
}
here=$(cd "$(dirname "$0")/.." && pwd)
bin=$(bin_folder)
link="$bin/memanto"
if { [ -e "$link" ] || [ -L "$link" ]; } && [ "$(readlink "$link" || true)" != "$data/venv/bin/memanto" ]; then
    echo "$link is not ours; remove it or put another folder first in PATH" >&2
    exit 1
fi
mkdir -p "$data" "$bin"
"$python" -m venv --clear "$data/venv"
"$data/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    --constraint "$here/constraints.txt" "$here/packages/memanto[offline]" "$here/packages/memanto-mcp"
ln -sf "$data/venv/bin/memanto" "$link"
printf '%s\n' "$link" >"$data/link"
"$link" --version
case ":$PATH:" in
*":$bin:"*) echo "Installed as $link. Next: memanto agent create my-loop" ;;
*)
    echo "Installed as $link, which is not on your PATH yet. Run this once, and add it to your shell's profile:"
    echo "    export PATH=\"$bin:\$PATH\""
    ;;
esac

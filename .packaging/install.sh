#!/bin/sh
# Installs Chorus from a folder of packages, on this machine or behind a URL, after checking the sums.
#
#   sh install.sh FOLDER-OR-URL [--to DIR]
#
# FOLDER-OR-URL is where install.sh, SHA256SUMS and chorus-VERSION-linux-ARCH.tar.gz lie.
# As root the program goes to /usr/local, otherwise to ~/.local; --to names another prefix.
# To uninstall: remove bin/chorus, share/man/man1/chorus*.1.gz and the completions below that prefix.
set -eu

fail() { echo "install.sh: $1" >&2; exit 1; }

# Nothing is done before all of this script was read: a download that is cut off installs nothing.
main() {
    from=
    to=
    while [ $# -gt 0 ]; do
        case $1 in
            --to) [ $# -ge 2 ] || fail "--to needs a directory"; to=$2; shift 2 ;;
            --help | -h) usage; exit 0 ;;
            -*) usage >&2; exit 2 ;;
            *) [ -z "$from" ] || fail "name one folder or URL"; from=${1%/}; shift ;;
        esac
    done
    [ -n "$from" ] || { usage >&2; exit 2; }
    if [ -z "$to" ]; then
        if [ "$(id -u)" = 0 ]; then to=/usr/local; else to=$HOME/.local; fi
    fi

    [ "$(uname -s)" = Linux ] || fail "Chorus runs on Linux, and this is $(uname -s)"
    case $(uname -m) in
        x86_64 | amd64) architecture=x86_64 ;;
        aarch64 | arm64) architecture=aarch64 ;;
        *) fail "there is no program for $(uname -m); build it from source: cargo install --locked --path ." ;;
    esac
    command -v sha256sum > /dev/null || fail "sha256sum is missing, so nothing can be checked"

    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM

    fetch SHA256SUMS
    line=$(grep -E "^[0-9a-f]{64} [ *]chorus-[0-9A-Za-z.+-]+-linux-$architecture\.tar\.gz\$" "$work/SHA256SUMS" | tail -n 1)
    [ -n "$line" ] ||
        fail "$from/SHA256SUMS names no program for $architecture"
    archive=${line#* }
    archive=${archive#[ *]}
    fetch "$archive"
    printf '%s\n' "$line" > "$work/sum"
    (cd "$work" && sha256sum -c sum > /dev/null 2>&1) ||
        fail "$archive is not what SHA256SUMS says: nothing was installed"

    tar -xzf "$work/$archive" -C "$work"
    unpacked=$work/${archive%.tar.gz}
    "$unpacked/chorus" --version > /dev/null || fail "the program does not run on this machine: nothing was installed"

    mkdir -p "$to/bin" || fail "$to cannot be written: run this with sudo, or name another directory with --to"
    # Under its own name only when it is whole: a program that runs is not written into.
    cp "$unpacked/chorus" "$to/bin/.chorus.new" || fail "$to/bin cannot be written: run this with sudo, or name another directory with --to"
    chmod 755 "$to/bin/.chorus.new"
    mv -f "$to/bin/.chorus.new" "$to/bin/chorus"
    place man "$to/share/man/man1"
    place completions/chorus.bash "$to/share/bash-completion/completions/chorus"
    place completions/_chorus "$to/share/zsh/site-functions/_chorus"
    place completions/chorus.fish "$to/share/fish/vendor_completions.d/chorus.fish"

    echo "installed $("$to/bin/chorus" --version) as $to/bin/chorus"
    called=chorus
    case ":$PATH:" in
        *":$to/bin:"*) ;;
        *)
            called=$to/bin/chorus
            echo "$to/bin is not in PATH: add it, or start $called"
            ;;
    esac
    echo "Try it: $called playground. Set it up: $called init."
}

usage() {
    echo "usage: sh install.sh FOLDER-OR-URL [--to DIR]"
    echo "FOLDER-OR-URL is where SHA256SUMS and chorus-VERSION-linux-ARCH.tar.gz lie."
}

# Brings a file of the folder or URL into $work.
fetch() {
    case $from in
        http://* | https://*)
            if command -v curl > /dev/null; then
                curl -fsSL --retry 2 -o "$work/$1" "$from/$1" || fail "$from/$1 cannot be fetched"
            elif command -v wget > /dev/null; then
                wget -q -O "$work/$1" "$from/$1" || fail "$from/$1 cannot be fetched"
            else
                fail "neither curl nor wget is installed"
            fi
            ;;
        *) cp "$from/$1" "$work/$1" 2> /dev/null || fail "$from/$1 is not there" ;;
    esac
}

# Puts a file, or the files of a folder, of what was unpacked where it belongs, if it is there.
place() {
    if [ -d "$unpacked/$1" ]; then
        mkdir -p "$2"
        cp "$unpacked/$1"/* "$2/"
    elif [ -f "$unpacked/$1" ]; then
        mkdir -p "$(dirname "$2")"
        cp "$unpacked/$1" "$2"
    fi
}

main "$@"

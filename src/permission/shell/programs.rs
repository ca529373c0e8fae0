//! Programs whose arguments are commands or code, by what they do with them.

/// Programs that read shell commands: from `-c`, a file or their standard input.
const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "csh", "tcsh", "hush",
];

/// Programs that run the command that follows, somehow else.
const WRAPPERS: &[&str] = &[
    "!",
    "bpftrace",
    "busybox",
    "builtin",
    "bwrap",
    "caffeinate",
    "capsh",
    "catchsegv",
    "chpst",
    "chroot",
    "chrt",
    "cgexec",
    "command",
    "coproc",
    "dbus-run-session",
    "direnv",
    "doas",
    "entr",
    "env",
    "exec",
    "expect",
    "fakeroot",
    "firejail",
    "flock",
    "gdb",
    "gosu",
    "gtimeout",
    "hash",
    "inotifywait",
    "ionice",
    "ld.so",
    "lldb",
    "linux32",
    "linux64",
    "ltrace",
    "lxc",
    "machinectl",
    "nice",
    "nohup",
    "nsenter",
    "numactl",
    "parallel",
    "perf",
    "pkexec",
    "prlimit",
    "proot",
    "proxychains",
    "proxychains4",
    "rlwrap",
    "run-parts",
    "runcon",
    "runuser",
    "screen",
    "script",
    "script-runner",
    "setarch",
    "setpriv",
    "setsid",
    "setuidgid",
    "softlimit",
    "ssh",
    "sshpass",
    "start-stop-daemon",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-inhibit",
    "systemd-run",
    "taskset",
    "tcpdump",
    "tmux",
    "time",
    "timeout",
    "torsocks",
    "toybox",
    "trap",
    "tsocks",
    "unbuffer",
    "unshare",
    "valgrind",
    "watch",
    "watchexec",
    "xargs",
    "xvfb-run",
    "zsh-defer",
    "at",
    "batch",
    "crontab",
    "eval",
    "hyperfine",
    "multitime",
    "chronic",
    "ts",
    "nodemon",
    "gxargs",
    "socat",
    "ncat",
    "nc",
    "dotenv",
    "op",
    "doppler",
    "aws-vault",
    "chamber",
    "teller",
    "vault",
];

/// Programs whose own subcommand runs what follows: the program, then the words before the command.
const RUNNERS: &[(&str, &[&str])] = &[
    ("npx", &[]),
    ("bunx", &[]),
    ("pnpx", &[]),
    ("uvx", &[]),
    ("npm", &["exec"]),
    ("npm", &["x"]),
    ("npm", &["explore"]),
    ("yarn", &["dlx"]),
    ("yarn", &["exec"]),
    ("pnpm", &["dlx"]),
    ("pnpm", &["exec"]),
    ("bun", &["x"]),
    ("pipx", &["run"]),
    ("uv", &["run"]),
    ("uv", &["tool", "run"]),
    ("poetry", &["run"]),
    ("pdm", &["run"]),
    ("hatch", &["run"]),
    ("pipenv", &["run"]),
    ("conda", &["run"]),
    ("mamba", &["run"]),
    ("bundle", &["exec"]),
    ("rbenv", &["exec"]),
    ("pyenv", &["exec"]),
    ("nodenv", &["exec"]),
    ("asdf", &["exec"]),
    ("mise", &["exec"]),
    ("mise", &["x"]),
    ("direnv", &["exec"]),
    ("devbox", &["run"]),
    ("nix", &["run"]),
    ("nix", &["shell"]),
    ("nix", &["develop"]),
    ("nix-shell", &[]),
    ("guix", &["shell"]),
    ("docker", &["exec"]),
    ("docker", &["run"]),
    ("docker", &["container", "exec"]),
    ("docker", &["container", "run"]),
    ("docker", &["compose", "exec"]),
    ("docker", &["compose", "run"]),
    ("docker-compose", &["exec"]),
    ("docker-compose", &["run"]),
    ("podman", &["exec"]),
    ("podman", &["run"]),
    ("nerdctl", &["exec"]),
    ("nerdctl", &["run"]),
    ("kubectl", &["exec"]),
    ("kubectl", &["run"]),
    ("oc", &["exec"]),
    ("lxc", &["exec"]),
    ("vagrant", &["ssh"]),
    ("heroku", &["run"]),
    ("rustup", &["run"]),
    ("cargo", &["xtask"]),
    ("go", &["run"]),
    ("deno", &["run"]),
    ("bun", &["run"]),
    ("dotnet", &["exec"]),
    ("java", &["-jar"]),
];

/// Interpreters, and the options after which their code stands.
const INTERPRETERS: &[(&str, &[&str])] = &[
    ("python", &["-c"]),
    ("pypy", &["-c"]),
    ("perl", &["-e", "-E"]),
    ("ruby", &["-e"]),
    ("node", &["-e", "-p", "--eval", "--print", "-pe"]),
    ("nodejs", &["-e", "-p", "--eval", "--print", "-pe"]),
    ("bun", &["-e", "--eval"]),
    ("deno", &["eval"]),
    ("php", &["-r"]),
    ("lua", &["-e"]),
    ("luajit", &["-e"]),
    ("Rscript", &["-e"]),
    ("R", &["-e"]),
    ("julia", &["-e", "-E"]),
    ("osascript", &["-e"]),
    ("groovy", &["-e"]),
    ("scala", &["-e"]),
    ("elixir", &["-e"]),
    ("erl", &["-eval"]),
    ("ghc", &["-e"]),
    ("guile", &["-c"]),
    ("emacs", &["--eval", "--execute"]),
    ("vim", &["-c", "--cmd"]),
    ("vi", &["-c", "--cmd"]),
    ("nvim", &["-c", "--cmd"]),
    ("ex", &["-c"]),
    ("tclsh", &[]),
    ("sqlite3", &["-cmd"]),
    ("psql", &["-c", "--command"]),
    ("pwsh", &["-c", "-Command", "-EncodedCommand"]),
];

/// Whether it reads shell commands.
pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// Whether it runs the command that follows it.
pub(super) fn is_wrapper(name: &str) -> bool {
    WRAPPERS.contains(&name) || name.starts_with("ld-linux")
}

/// Whether it reads a file of shell commands into this shell.
pub(super) fn is_source(name: &str) -> bool {
    matches!(name, "source" | ".")
}

/// Whether it changes what later words of this shell mean.
pub(super) fn changes_the_shell(name: &str) -> bool {
    matches!(
        name,
        "alias"
            | "enable"
            | "hash"
            | "trap"
            | "shopt"
            | "set"
            | "mapfile"
            | "readarray"
            | "read"
            | "let"
            | "wait"
            | "complete"
            | "bind"
            | "fc"
            | "history"
            | "export"
            | "declare"
            | "typeset"
            | "local"
            | "readonly"
            | "unset"
            | "exec"
            | "eval"
            | "source"
            | "."
            | "builtin"
            | "command"
            | "ulimit"
            | "umask"
            | "getopts"
    )
}

/// How many words stand before the command it runs, when it is a runner.
pub(super) fn runner(words: &[&str]) -> Option<usize> {
    let (name, rest) = words.split_first()?;
    // Options may stand between.
    let plain: Vec<&str> = rest
        .iter()
        .copied()
        .filter(|word| !word.starts_with('-') || *word == "-jar")
        .collect();
    RUNNERS
        .iter()
        .filter(|(program, path)| program == name && plain.starts_with(path))
        .map(|(_, path)| path.len() + 1)
        .max()
}

/// Whether it runs commands in a container, a cluster or a shell of its own, where nothing of ours judges them.
pub(super) fn runs_elsewhere(name: &str) -> bool {
    matches!(
        name,
        "docker"
            | "docker-compose"
            | "podman"
            | "nerdctl"
            | "kubectl"
            | "oc"
            | "lxc"
            | "vagrant"
            | "heroku"
            | "nix"
            | "nix-shell"
            | "guix"
            | "devbox"
            | "direnv"
            | "npx"
            | "bunx"
            | "pnpx"
            | "uvx"
    )
}

/// The options after which code stands, when it is an interpreter.
pub(super) fn code_options(name: &str) -> Option<&'static [&'static str]> {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let find = |name: &str| INTERPRETERS.iter().find(|(program, _)| *program == name);
    find(name)
        .or_else(|| find(bare))
        .map(|(_, options)| *options)
}

/// Whether it is one of the awks, whose first argument is code.
pub(super) fn is_awk(name: &str) -> bool {
    matches!(name, "awk" | "gawk" | "mawk" | "nawk" | "original-awk")
}

//! Programs whose arguments are commands or code, by what they do with them.

/// Programs that read shell commands: from `-c`, a file or their standard input.
const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "csh", "tcsh", "hush",
];

/// Programs that run the command that follows, somehow else.
const WRAPPERS: &str = "! aa-exec abduco alacritty anacron ansible apptainer asciinema at autossh aws-vault background \
    batch bench bind box64 bpftrace buildah builtin busybox bwrap byobu caffeinate cage capsh catatonit catchsegv \
    cgclassify cgexec ch-run chamber choom chpst chroot chronic chrt clush command compgen complete coproc cpulimit \
    crontab crun daemon daemonize datefudge dbus-launch dbus-run-session dchroot devbox direnv distrobox doas doppler \
    dotenv dotenvx dtach dumb-init eatmydata entr env envchain envconsul envdir envuidgid eval exec execlineb expect \
    fakechroot fakeroot fakeroot-ng faketime firejail flock foot foreground fswatch gdb gdbserver gosu gtime gtimeout \
    gxargs hash heaptrack hyperfine i386 ifne incus infisical inotifywait ionice jobs kitty konsole lckdo ld.so ldd \
    libtool linux32 linux64 lldb logsave ltrace lxc lxc-attach lxc-execute machinectl mispipe multitime nc ncat newgrp \
    newrole nice nodemon nohup nsenter numactl op openvt parallel pdsh pee perf pkexec poop prlimit proot proxychains \
    proxychains4 pssh qemu-aarch64 qemu-x86_64 retry rexec rlfe rlwrap rr rsh run-parts run0 runc runcon runsv runuser \
    rust-gdb rust-lldb s6-setuidgid sandbox schroot screen script script-runner sem setarch setlock setpriv setsid \
    setuidgid sg singularity socat softlimit solo sops ssh ssh-agent sshpass start-stop-daemon stdbuf strace su \
    su-exec sudo sudoedit supervise systemd-cat systemd-inhibit systemd-nspawn systemd-run systemd-socket-activate \
    taskset tcpdump tcpserver teller time timelimit timeout tini tini-static tmux toolbox torify torsocks toybox \
    trace-cmd trap ts tshark tsocks ttyrec uclampset udocker uftrace uname26 unbuffer unshare urxvt valgrind vault \
    vipe watch watchexec weston when-changed wine with-lock-ex x86_64 xargs xinit xterm xvfb-run zrun zsh-defer";

/// Builtins of bash that read names, and evaluate what stands in a name's brackets: `test -v 'a[$(id)]'`.
const EVALUATORS: &[&str] = &[
    "test",
    "[",
    "printf",
    "read",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "unset",
    "let",
    "mapfile",
    "readarray",
    "getopts",
    "wait",
    "compgen",
    "complete",
    "compopt",
    "bind",
    "jobs",
    "trap",
    "enable",
];

/// Programs and their options whose value is a command.
const COMMAND_OPTIONS: &[(&str, &[&str])] = &[
    (
        "tar",
        &[
            "--checkpoint-action",
            "--to-command",
            "--use-compress-program",
            "--rsh-command",
            "--rmt-command",
            "--info-script",
            "--new-volume-script",
            "-I",
            "-F",
        ],
    ),
    ("rsync", &["--rsh", "--rsync-path", "-e"]),
    ("scp", &["-S", "-o"]),
    ("sftp", &["-S", "-o"]),
    ("man", &["--pager", "--html", "-P", "-H"]),
    ("less", &["+"]),
    ("more", &["+"]),
    ("vim", &["+"]),
    ("vi", &["+"]),
    ("view", &["+"]),
    ("nvim", &["+"]),
    ("ex", &["+"]),
    ("sort", &["--compress-program"]),
    ("split", &["--filter"]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("zip", &["--unzip-command", "-TT"]),
    ("make", &["--eval", "-E", "SHELL="]),
    ("gmake", &["--eval", "-E", "SHELL="]),
    ("npm", &["--call", "--script-shell", "-c"]),
    ("npx", &["--call", "-c"]),
    ("cargo", &["-s", "-x", "--shell", "--exec"]),
    (
        "git",
        &[
            "--upload-pack",
            "--receive-pack",
            "--exec",
            "--extcmd",
            "--open-files-in-pager",
        ],
    ),
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
    ("cargo", &["watch"]),
    ("snap", &["run"]),
    ("flatpak", &["run"]),
    ("buildah", &["run"]),
    ("toolbox", &["run"]),
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
    WRAPPERS.split_whitespace().any(|known| known == name) || name.starts_with("ld-linux")
}

/// Whether it is a builtin that evaluates what stands in a name's brackets.
pub(super) fn is_evaluator(name: &str) -> bool {
    EVALUATORS.contains(&name)
}

/// Its options whose value is a command.
pub(super) fn command_options(name: &str) -> &'static [&'static str] {
    let known = COMMAND_OPTIONS.iter().find(|(program, _)| *program == name);
    known.map_or(&[], |(_, options)| options)
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
            | "compopt"
            | "disown"
            | "fg"
            | "bg"
            | "suspend"
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

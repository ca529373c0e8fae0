//! Programs by what they do with their arguments: run them as a command, read them as code, or nothing of the kind.
//!
//! Lists are texts of names between blanks, so that one line holds many and a change is seen in one word.

/// Programs that read shell commands: from `-c`, a file or their standard input.
pub(in crate::permission::shell) const SHELLS: &str = "\
    sh bash dash zsh ksh mksh ash fish rbash csh tcsh hush yash posh oksh loksh lksh rksh bsh osh ysh rc es nu elvish \
    xonsh";

/// Words that read a file of shell commands into this shell.
pub(in crate::permission::shell) const SOURCES: &str = "source .";

/// Programs that run the command that follows, grouped by what else they do with it.
#[rustfmt::skip]
pub(in crate::permission::shell) const WRAPPERS: &[(&str, &str)] = &[
    ("as part of the shell",
        "! background bind builtin command compgen complete coproc eval exec foreground hash jobs time trap zrun \
        zsh-defer"),
    ("as another person or with other rights",
        "capsh chpst chroot dchroot doas fakeroot fakeroot-ng fakeroot-sysv fakeroot-tcp gksu kdesu beesu please super calife gosu newgrp newrole pkexec pseudo run0 runcon runuser schroot \
        setpriv setuidgid s6-setuidgid s6-applyuidgid envuidgid s6-envuidgid sg solo su su-exec sudo sudo-rs sudoedit runsv \
        supervise start-stop-daemon"),
    ("with another environment",
        "aws-vault chamber cross-env cross-env-shell direnv doppler dotenv dotenvx env env-cmd envchain envconsul envdir \
        execlineb genv gpg-agent infisical s6-envdir sops summon teller vault datefudge faketime keychain"),
    ("later, again and again, or when something happens",
        "anacron at batch concurrently crontab daemon daemonize dockerize entr forever fswatch incrontab inotifywait modd \
        nodemon nq reflex retry run-parts viddy hwatch mprocs pueue tsp pm2 npm-run-all run-p run-s onchange chokidar supervisorctl \
        watchfiles ptw pytest-watch guard start-server-and-test wait-for-it wait-for-it.sh wait4x watch watchexec \
        watchman-make when-changed rexec"),
    ("with another priority, limit or place on the machine",
        "cage cgclassify cgexec choom chronic chrt cpulimit eatmydata gamemoderun gnice gnohup gstdbuf gtime gtimeout ionice \
        mpiexec mpirun nice nocache nohup numactl prlimit rlfe rlwrap s6-setlock s6-softlimit salloc sbatch setlock srun flock trickle pgrphack readproctitle cset schedtool nocache-run vglrun optirun primusrun gamescope gamemode \
        ccache sccache distcc icecc grc pyrun \
        lckdo sem softlimit stdbuf taskset timelimit timeout torchrun uclampset with-lock-ex"),
    ("as another kind of machine",
        "box64 box86 fakechroot i386 linux32 linux64 proot qemu-aarch64 qemu-aarch64-static qemu-arm qemu-arm-static \
        qemu-i386 qemu-i386-static qemu-riscv64 qemu-x86_64 qemu-x86_64-static setarch uname26 wine wine64 x86_64"),
    ("in a container or a sandbox",
        "aa-exec apptainer buildah bwrap ch-run crun devbox distrobox firejail flatpak-spawn incus \
        lxc lxc-attach lxc-execute machinectl minijail0 nsenter nsjail runc sandbox singularity steam-run \
        systemd-nspawn toolbox udocker unshare"),
    ("on another machine, or through another network",
        "ansible autossh clush dsh mosh nc ncat parallel-ssh pdsh proxychains proxychains4 pssh rsh slogin socat ssh \
        sshpass tcpserver torify torsocks tsocks"),
    ("beside the terminal, or on another one",
        "abduco alacritty asciinema byobu dbus-launch dbus-run-session dtach expect foot gnome-terminal gotty kitty konsole \
        openvt rxvt screen script script-runner setsid ssh-agent startx systemd-cat systemd-inhibit systemd-run \
        systemd-socket-activate terminator tmate tmux ttyd ttyrec unbuffer urxvt weston wezterm x-terminal-emulator \
        xfce4-terminal xinit xterm xvfb-run zellij caffeinate op"),
    ("while it watches or measures",
        "bear bench bpftrace catchsegv coz gdb gdbserver heaptrack hyperfine intercept-build kcov kernprof ld.so \
        ldd libtool lldb logsave ltrace multitime operf perf poop rr rust-gdb rust-lldb scalene \
        scan-build strace tcpdump trace-cmd ts tshark uftrace valgrind viztracer"),
    ("with what it reads as arguments or input",
        "gxargs ifne mispipe parallel pee vipe xargs"),
    ("as the first process", "catatonit dumb-init tini tini-static"),
    ("as one program of several in it", "busybox toybox"),
];

/// Builtins of bash that read names, and evaluate the brackets of a variable's name: `test -v 'a[$(id)]'`.
pub(in crate::permission::shell) const EVALUATORS: &str = "\
    test [ printf read declare typeset local export readonly unset let mapfile readarray getopts wait compgen \
    complete compopt bind jobs trap enable";

/// Words that change what later words of this shell mean.
pub(in crate::permission::shell) const CHANGE_THE_SHELL: &str = "\
    alias enable hash trap shopt set mapfile readarray read let wait complete bind fc history export declare typeset \
    local readonly unset exec eval source . builtin command ulimit umask getopts compopt disown fg bg suspend";

/// Programs whose subcommand runs what follows, and the words before that command; `-` where it follows at once.
#[rustfmt::skip]
pub(in crate::permission::shell) const RUNNERS: &[(&str, &str)] = &[
    ("npx bunx pnpx uvx nix-shell",                         "-"),
    ("npm",                                                 "exec, x, explore, init, create, innit"),
    ("pnpm yarn",                                           "dlx, exec, create"),
    ("bun",                                                 "x, run, create"),
    ("poetry pdm hatch pipenv conda mamba micromamba pipx rye pixi volta honcho foreman", "run"),
    ("uv",                                                  "run, tool run"),
    ("bundle rbenv pyenv nodenv asdf direnv dotnet goenv jenv plenv phpenv fnm nvm nx lerna berglas", "exec"),
    ("rvm",                                                 "do, exec"),
    ("coverage",                                            "run"),
    ("multipass crictl",                                    "exec"),
    ("limactl adb",                                         "shell"),
    ("memray py-spy samply pm2",                            "run, record, start"),
    ("mise",                                                "exec, x"),
    ("devbox toolbox rustup snap flatpak buildah heroku",   "run"),
    ("go deno",                                             "run"),
    ("nix",                                                 "run, shell, develop"),
    ("guix",                                                "shell"),
    ("docker",                                              "exec, run, container exec, container run, compose exec, compose run"),
    ("docker-compose podman nerdctl kubectl",               "exec, run"),
    ("oc lxc",                                              "exec"),
    ("vagrant",                                             "ssh"),
    ("cargo",                                               "xtask, watch"),
    ("java",                                                "-jar"),
];

/// Subcommands by which a program changes what later commands run, or where they work. What they only show is in [`SHOWS`].
#[rustfmt::skip]
pub(in crate::permission::shell) const CONFIGURES: &[(&str, &str)] = &[
    ("pip pip3 poetry conda mamba bundle composer gcloud kubectl oc dotnet", "config"),
    ("aws",                                                 "configure"),
    ("helm",                                                "plugin repo registry"),
    ("docker podman nerdctl",                               "context plugin"),
    ("rustup",                                              "default override toolchain set component"),
    ("systemctl",                                           "link edit set-environment import-environment enable"),
    ("yarn pnpm",                                           "plugin"),
];

/// What such a subcommand only shows.
pub(in crate::permission::shell) const SHOWS: &str = "get list ls view show inspect current-context get-contexts get-clusters get-users debug help --help -h";

/// Programs that run commands in a container, a cluster or a shell of its own, where nothing of ours judges them.
pub(in crate::permission::shell) const RUN_ELSEWHERE: &str = "\
    docker docker-compose podman nerdctl kubectl oc lxc vagrant heroku nix nix-shell guix devbox direnv npx bunx \
    pnpx uvx";

/// Options whose value is a command, by program.
#[rustfmt::skip]
pub(in crate::permission::shell) const COMMAND_OPTIONS: &[(&str, &str)] = &[
    ("tar",                 "-I --use-compress-program -F --info-script --new-volume-script --checkpoint-action \
                            --to-command --rsh-command --rmt-command"),
    ("rsync",               "-e --rsh --rsync-path"),
    ("scp sftp",            "-S -o"),
    ("man",                 "-P --pager -H --html"),
    ("less more",           "+"),
    ("vim vi view nvim ex", "+"),
    ("mapfile readarray",   "-C"),
    ("svn",                 "--diff-cmd --diff3-cmd --editor-cmd"),
    ("hg",                  "-e --ssh --config"),
    ("sort",                "--compress-program"),
    ("split",               "--filter"),
    ("rg",                  "--pre --hostname-bin"),
    ("zip",                 "-TT --unzip-command"),
    ("make gmake",          "-E --eval SHELL="),
    ("npm",                 "-c --call --script-shell"),
    ("npx",                 "-c --call"),
    ("cargo",               "-s --shell -x --exec"),
    ("git",                 "--upload-pack --receive-pack --exec --extcmd --open-files-in-pager"),
];

/// Interpreters, and the options after which their code follows; `-` where no option gives code.
#[rustfmt::skip]
pub(in crate::permission::shell) const INTERPRETERS: &[(&str, &str)] = &[
    ("python pypy guile",   "-c"),
    ("perl julia",          "-e -E"),
    ("ruby lua luajit Rscript R osascript groovy scala elixir ghc", "-e"),
    ("node nodejs",         "-e --eval -p --print -pe"),
    ("bun",                 "-e --eval"),
    ("deno",                "eval"),
    ("php",                 "-r"),
    ("erl",                 "-eval"),
    ("emacs",               "--eval --execute"),
    ("vim vi nvim view ex gvim rvim rview vimdiff gvimdiff nvimdiff", "-c --cmd"),
    ("emacsclient",         "-e --eval"),
    ("duckdb",              "-c -cmd"),
    ("tclsh wish expect",   "-c"),
    ("ipython bpython jshell iex ghci ocaml clisp sbcl octave maxima gp irb", "-c -e --eval"),
    ("racket raku clojure clj csi gosh gforth janet slsh groovysh jython jruby hy coconut fennel newlisp mit-scheme pike poly sml ecl", "-e --eval"),
    ("sqlite3",             "-cmd"),
    ("psql",                "-c --command"),
    ("pwsh",                "-c -Command -EncodedCommand"),
];

/// Programs whose standard input is commands, some of which run others.
pub(in crate::permission::shell) const TAKE_COMMANDS: &str =
    "ed red dc m4 gdb lldb ftp sftp lftp telnet fdisk parted";

/// Further programs that run the commands or code that they read, also beside a file: an editor takes them for keys.
pub(in crate::permission::shell) const RUN_THEIR_INPUT: &str = "\
    parallel at batch crontab tclsh wish expect gnuplot ghci irb ipython bpython iex jshell ocaml utop maxima octave gp calc \
    tsx ts-node Rscript babashka bb nu swipl gdb lldb gs w3m vim vi nvim view ex gvim rvim rview vimdiff gvimdiff nvimdiff \
    tex latex pdflatex pdftex xetex xelatex luatex lualatex sc sc-im debugfs gdisk bluetoothctl wpa_cli";

/// Clients of databases: without a statement among their operands they read statements.
pub(in crate::permission::shell) const DATABASE_CLIENTS: &str = "sqlite sqlite3 duckdb psql mysql mariadb redis-cli valkey-cli mongosh mongo cqlsh usql pgcli mycli litecli isql sqlplus \
    clickhouse-client influx";

/// The awks, whose first argument is code.
pub(in crate::permission::shell) const AWKS: &str = "awk gawk mawk nawk original-awk";

/// Signs that code of another language starts programs or hides what it does.
#[rustfmt::skip]
pub(in crate::permission::shell) const SPAWNS: &[(&str, &[&str])] = &[
    ("it starts a program", &[
        "system", "popen", "subprocess", "exec", "spawn", "fork", "child_process", "Runtime", "ProcessBuilder", "`", "%x",
        "qx", "Open3", "IO.", "open(", "shell", "pty",
    ]),
    ("it runs or loads other code", &["eval", "import(", "__import__", "getattr", "ctypes", "require("]),
    ("it spells a text otherwise", &["base64", "b64decode", "decode(", "chr(", "fromCharCode", "atob", "\\x", "\\u"]),
    ("it reaches the network", &["socket", "urllib", "http"]),
    ("it names a program that writes elsewhere", &["git", "gh", "doctl"]),
];

/// Variables whose value is a command, or a file of them.
pub(in crate::permission::shell) const COMMAND_VARIABLES: &str = "\
    GIT_SSH_COMMAND GIT_SSH GIT_PAGER PAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_EXTERNAL_DIFF \
    GIT_ASKPASS GIT_PROXY_COMMAND SSH_ASKPASS SUDO_ASKPASS PROMPT_COMMAND LESSOPEN LESSCLOSE MANPAGER BROWSER \
    SYSTEMD_PAGER GH_PAGER GH_EDITOR GH_BROWSER BAT_PAGER PSQL_PAGER PSQL_EDITOR RSYNC_RSH SVN_SSH SVN_EDITOR CVS_RSH \
    HGEDITOR FCEDIT KUBE_EDITOR FZF_DEFAULT_COMMAND";

/// Variables in whose value bash runs `$(…)` whenever it shows them: `PS4` before each command of `set -x`.
pub(in crate::permission::shell) const PROMPTS: &str = "PS0 PS1 PS2 PS3 PS4 RPS1 PROMPT RPROMPT";

/// Variables whose value is options of a program, which may run commands.
pub(in crate::permission::shell) const OPTION_VARIABLES: &str =
    "TAR_OPTIONS LESS MAKEFLAGS GNUMAKEFLAGS MANOPT ZIPOPT FZF_DEFAULT_OPTS";

/// Variables that change what later words mean.
pub(in crate::permission::shell) const CONFIGURING_VARIABLES: &str =
    "BASH_ENV ENV GIT_EXEC_PATH BASH_CMDS BASH_ALIASES";

/// Programs of whose own commands some run commands of the shell, and the words and signs that stand before those.
#[rustfmt::skip]
pub(in crate::permission::shell) const SHELL_ESCAPES: &[(&str, &str)] = &[
    ("gdb rust-gdb",                "! shell pipe"),
    ("lldb rust-lldb",              "shell"),
    ("vim vi view nvim ex gvim rvim rview vimdiff gvimdiff nvimdiff ed red", "!"),
    ("psql",                        "\\!"),
    ("mysql mariadb",               "\\! system"),
    ("sqlite3 sqlite duckdb",       ".shell .system"),
    ("lftp ftp sftp",               "! shell local"),
];

/// Programs besides the harmless ones whose arguments are only text, or are judged in another way.
pub(in crate::permission::shell) const ABOUT_TEXT: &str = "\
    printf rg ag ack jq yq sed gsed find fd fdfind git gh glab hub doctl which type logger read";

/// Harmless programs whose arguments are not files.
pub(in crate::permission::shell) const TAKE_NO_FILES: &str =
    "echo true false sleep seq kill pgrep test [";

/// Programs that write the files that they are given.
pub(in crate::permission::shell) const WRITERS: &str =
    "tee cp mv ln install curl wget dd rsync scp sponge split base64 tar";

/// Words by which some programs run another one or change what later ones run: where a program is unknown, they must be
/// spelled.
pub(in crate::permission::shell) const RUNS_OR_CONFIGURES: &str = "\
    exec execute eval run run-script runner rpc cmd command commands call invoke shell console repl script source foreach \
    for-each hook hooks alias aliases config configure plugin plugins extension extensions ext dlx bash sh edit editor \
    bootstrap wrap spawn attach ssh set-env unalias debug explore xargs";

/// Names of programs that a program may be given to run: where that one is unknown, they must be spelled.
pub(in crate::permission::shell) const ORDINARY_PROGRAMS: &str = "\
    sh bash dash zsh ksh mksh ash fish csh tcsh busybox toybox env xargs sudo doas su nohup nice timeout setsid stdbuf \
    python python2 python3 pypy perl ruby node nodejs deno bun php lua java javac gcc cc clang g++ rustc awk gawk mawk sed \
    ed vi vim nvim emacs nano curl wget ssh scp sftp rsync nc ncat socat telnet ftp touch rm cp mv ln mkdir rmdir chmod chown \
    dd tee truncate shred unlink mkfifo mknod tar make cmake git gh docker podman kubectl systemctl \
    crontab kill pkill killall reboot shutdown mount umount sqlite3 psql mysql openssl gpg";

/// Words before a colon that make the name of a package an address.
pub(in crate::permission::shell) const ADDRESS_SCHEMES: &str = "\
    file link portal patch exec workspace catalog git git+ssh git+https git+http git+file ssh http https github gist gitlab \
    bitbucket npm jsr hg svn bzr path url";

/// Endings of files that package managers install.
pub(in crate::permission::shell) const ARCHIVES: &str =
    ".tgz .tar .gz .bz2 .xz .zst .zip .whl .gem .rpm .deb .conda .egg .phar .jar .crate";

/// cargo's own subcommands; any other is a program `cargo-<name>`.
pub(in crate::permission::shell) const CARGO_OWN: &str = "\
    add b bench build c check clean clippy config d doc fetch fix fmt generate-lockfile help info init install \
    locate-project login logout metadata new owner package pkgid publish r read-manifest remove report rm run rustc \
    rustdoc search t test tree uninstall update vendor verify-project version yank";

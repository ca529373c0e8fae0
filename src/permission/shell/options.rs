//! Options by which a program that reads also writes, or starts another.

/// The options of one program that a pattern must spell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Options {
    /// Letters of short options, alone or in a cluster.
    pub(super) short: &'static str,
    /// Long options, by blanks; any beginning of one counts.
    pub(super) long: &'static str,
    /// Words, by blanks: alone or with `=` and a value.
    pub(super) exact: &'static str,
    /// Beginnings of words, by blanks.
    pub(super) prefixes: &'static str,
}

const NONE: Options = Options {
    short: "",
    long: "",
    exact: "",
    prefixes: "",
};

/// Programs without an option that writes or starts anything.
const HARMLESS: &str = "[ arch base32 base64 basename cat cd cksum cmp col column comm cut df dirname du echo egrep \
                expand false fgrep fold free getconf grep groups head hexdump id join ls lsblk lscpu md5sum \
                mkdir nl nproc numfmt od paste pgrep ps pwd readlink realpath rev rm rmdir seq sha1sum sha256sum \
                sha512sum sleep stat strings tac tail test touch tr true tty uname unexpand uptime wc which \
                whoami cp mv tee ln chmod chown kill diff colordiff";

/// What is risky for a program that this file does not know.
const UNKNOWN: Options = Options {
    long: "--output --output-file --outfile --exec --execute --eval --command --config --config-file \
                --plugin --require --rcfile --init-file --pager --editor --shell --rsh --upload-file --post-file \
                --script --preload --use-compress-program",
    ..NONE
};

/// The risky options of `program`, for some in the light of its `subcommand`.
pub(super) fn risky(program: &str, subcommand: &str) -> Options {
    let bare = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    match bare {
        "git" => git(subcommand),
        "find" => Options {
            exact: "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from",
            ..NONE
        },
        "fd" | "fdfind" => Options {
            short: "xX",
            long: "--exec --exec-batch",
            ..NONE
        },
        "sort" => Options {
            short: "oT",
            long: "--output --compress-program --temporary-directory",
            ..NONE
        },
        "shuf" | "iconv" | "tree" | "sdiff" => Options {
            short: "o",
            long: "--output --diff-program",
            ..NONE
        },
        "diff3" => Options {
            long: "--diff-program",
            ..NONE
        },
        "date" | "hwclock" => Options {
            short: "s",
            long: "--set",
            ..NONE
        },
        "file" => Options {
            short: "C",
            long: "--compile",
            ..NONE
        },
        "tar" | "gtar" | "bsdtar" => Options {
            short: "IFP",
            long: "--checkpoint-action --checkpoint --to-command --use-compress-program --rsh-command --info-script \
                --new-volume-script --absolute-names --rmt-command",
            ..NONE
        },
        "zip" => Options {
            short: "TO",
            long: "--unzip-command --test --output-file --out",
            ..NONE
        },
        "cpio" | "pax" => Options {
            short: "F",
            long: "--rsh-command --to-stdout",
            ..NONE
        },
        "sed" | "gsed" => Options {
            short: "if",
            long: "--in-place --file",
            ..NONE
        },
        "awk" | "gawk" | "mawk" | "nawk" => Options {
            short: "fiElo",
            long: "--file --include --exec --load --pretty-print --profile --dump-variables",
            ..NONE
        },
        "rg" => Options {
            short: "z",
            long: "--pre --hostname-bin --search-zip",
            ..NONE
        },
        "ag" | "ack" => Options {
            long: "--pager --ackrc --output",
            ..NONE
        },
        "yq" => Options {
            short: "is",
            long: "--inplace --in-place --split-exp",
            ..NONE
        },
        "perl" | "ruby" => Options {
            short: "iernIMpSxCX",
            ..NONE
        },
        "python" | "pypy" => Options {
            short: "cmi",
            ..NONE
        },
        "node" | "nodejs" => Options {
            short: "reCi",
            long: "--require --import --loader --experimental-loader --env-file --eval --print --inspect \
                --experimental-config-file",
            ..NONE
        },
        "curl" => Options {
            short: "oOTdFKxDcXEQtMZJ",
            long: "--output --output-dir --remote-name --remote-name-all --upload-file --data --data-raw \
                --data-binary --data-ascii --data-urlencode --form --form-string --config --proxy --preproxy \
                --socks5 --socks4 --dump-header --cookie-jar --trace --trace-ascii --request --next --resolve \
                --connect-to --unix-socket --abstract-unix-socket --libcurl --etag-save --hsts --alt-svc \
                --netrc-file --key --cert --engine --json --url --stderr --variable --quote --remote-header-name \
                --create-dirs --doh-url --interface --dns-servers --expand-url --expand-output",
            prefixes: "-w%output -H@ @",
            ..NONE
        },
        "wget" => Options {
            short: "OoaePi",
            long: "--output-document --output-file --append-output --execute --use-askpass --post-data --post-file \
                --body-data --body-file --method --input-file --config --directory-prefix --save-cookies \
                --warc-file --rejected-log",
            ..NONE
        },
        "rsync" | "scp" | "sftp" => Options {
            short: "eSoFD",
            long: "--rsh --rsync-path --log-file --write-batch --only-write-batch --temp-dir --backup-dir \
                --remove-source-files --delete",
            ..NONE
        },
        "npm" | "pnpm" | "yarn" | "bun" => Options {
            short: "cC",
            long: "--script-shell --prefix --userconfig --globalconfig --node-options --shell --call --init-module \
                --editor --git --cwd --dir --use-yarnrc --viewer --browser --registry --preload --config --cache \
                --local-prefix --global",
            ..NONE
        },
        "cargo" => Options {
            short: "ZC",
            long: "--config --manifest-path --target-dir --out-dir --artifact-dir --registry --index --git --root \
                --path",
            ..NONE
        },
        "libtest" => Options {
            long: "--logfile",
            ..NONE
        },
        "rustc" => Options {
            short: "oCLZ",
            long: "--out-dir --emit --codegen --sysroot",
            ..NONE
        },
        "gcc" | "cc" | "clang" | "g++" | "c++" | "clang++" => Options {
            exact: "-wrapper -o",
            prefixes: "-fplugin -B -specs --specs @ -Xlinker -Wl, -o -load",
            ..NONE
        },
        "make" | "gmake" => Options {
            short: "fCIEW",
            long: "--file --makefile --directory --eval --include-dir --what-if",
            ..NONE
        },
        "ninja" => Options {
            short: "fCt",
            ..NONE
        },
        "just" => Options {
            short: "fd",
            long: "--justfile --working-directory --shell --shell-arg --set --command --chooser --edit",
            ..NONE
        },
        "cmake" => Options {
            short: "PEDC",
            long: "--build --install --open",
            ..NONE
        },
        "gradle" | "gradlew" => Options {
            short: "Ibcpg",
            long: "--init-script --build-file --settings-file --project-dir --gradle-user-home --include-build",
            ..NONE
        },
        "mvn" | "mvnw" => Options {
            short: "fsD",
            long: "--file --settings --define --global-settings",
            ..NONE
        },
        "java" => Options {
            prefixes: "-javaagent -agentlib -agentpath -XX:On -cp -classpath @",
            ..NONE
        },
        "go" => Options {
            prefixes: "-exec --exec -toolexec --toolexec -o --o -C -overlay --overlay -modfile --modfile -vettool \
                --vettool -cpuprofile -memprofile -blockprofile -mutexprofile -trace -outputdir -coverprofile \
                -pkgdir -compiler -ldflags -gccgoflags -gcflags -asmflags --cpuprofile --memprofile \
                --coverprofile --outputdir --trace --ldflags --compiler",
            ..NONE
        },
        "pytest" | "py.test" => Options {
            short: "pco",
            long: "--rootdir --override-ini --basetemp --confcutdir --junitxml --junit-xml --result-log --log-file \
                --pastebin --debug --pdb --pdbcls --import-mode --config-file --cov-config --cov-report --html \
                --trace",
            ..NONE
        },
        "pip" | "pipx" | "uv" => Options {
            short: "iteEfCr",
            long: "--index-url --extra-index-url --index --find-links --target --prefix --root --editable \
                --config-settings --global-option --python --log --cache-dir --proxy --requirement --constraint",
            prefixes: "git+ http: https: file:",
            ..NONE
        },
        "docker" | "podman" | "nerdctl" => Options {
            short: if subcommand == "compose" { "Hvf" } else { "Hv" },
            long: "--host --config --context --tlscacert --volume --mount --privileged --output --file --device \
                --pid --network --cap-add --security-opt --entrypoint",
            ..NONE
        },
        "kubectl" | "oc" => Options {
            long: "--kubeconfig --server --token --as --raw --cache-dir",
            ..NONE
        },
        "journalctl" => Options {
            short: "DM",
            long: "--vacuum-size --vacuum-time --vacuum-files --rotate --flush --sync --relinquish-var \
                --cursor-file --update-catalog --setup-keys --root --directory",
            ..NONE
        },
        "systemctl" => Options {
            short: "HM",
            long: "--host --machine --root --image",
            ..NONE
        },
        "man" => Options {
            short: "PHp",
            long: "--pager --html --preprocessor",
            ..NONE
        },
        "less" | "more" => Options {
            short: "oOkTt",
            long: "--log-file --LOG-FILE --lesskey-file --lesskey-src",
            ..NONE
        },
        "vim" | "vi" | "nvim" | "view" | "emacs" | "nano" => Options {
            short: "cSuUwWsliVo",
            long: "--cmd --eval --load --script --execute --batch --backupdir --operatingdir",
            ..NONE
        },
        "gh" | "glab" if subcommand == "api" => Options {
            short: "XfF",
            long: "--method --field --raw-field --input --form",
            ..NONE
        },
        "printf" => Options {
            exact: "-v",
            prefixes: "-v",
            ..NONE
        },
        "openssl" => Options {
            prefixes: "-out -engine -provider -passout -writerand",
            ..NONE
        },
        "jq" => Options {
            short: "L",
            long: "--library-path",
            ..NONE
        },
        "sqlite" => Options {
            prefixes: "-init -cmd --init --cmd .",
            ..NONE
        },
        "psql" => Options {
            short: "ocfL",
            long: "--output --command --file --log-file --variable",
            ..NONE
        },
        "strace" | "ltrace" | "perf" => Options { short: "o", ..NONE },
        "ruff" | "black" | "eslint" | "prettier" | "tsc" | "jest" | "vitest" | "mocha"
        | "webpack" | "rollup" | "vite" => Options {
            short: "oc",
            long: "--config --output-file --output --outFile --outDir --plugin --rulesdir \
                --resolve-plugins-relative-to --require --import --loader --globalSetup --setupFilesAfterEnv \
                --testRunner --reporters --parser --format --formatter --project --rootDir --write --fix",
            ..NONE
        },
        name if HARMLESS
            .split_whitespace()
            .any(|known| known == name || known == program) =>
        {
            NONE
        }
        _ => UNKNOWN,
    }
}

fn git(subcommand: &str) -> Options {
    const LONG: &str = "--output --output-directory --ext-diff --textconv --open-files-in-pager --upload-pack \
                --receive-pack --exec --extcmd --config --config-env --exec-path --template --separate-git-dir \
                --no-index --contents --remote --strategy --git-dir --work-tree --paginate --super-prefix \
                --command --tool --edit --editor --gpg-sign --show-signature --upload-archive --filters --index-filter \
                --tree-filter --msg-filter";
    let short = match subcommand {
        "clone" => "uc",
        "grep" => "O",
        "rebase" => "x",
        "difftool" => "xt",
        "archive" | "format-patch" | "bugreport" => "o",
        "ls-remote" | "fetch" | "pull" => "",
        _ => "",
    };
    // Before the subcommand; behind it they are others, and harmless: `git log -c`.
    let exact = match subcommand {
        "log" | "diff" | "show" | "status" | "commit" => "",
        "branch" => {
            "-d -D -m -M -c -C -f -u --delete --move --copy --force --unset-upstream --edit-description"
        }
        "tag" => "-d -f -a -s -u -m -F --delete --force --annotate --sign",
        "bisect" => "run",
        "submodule" => "foreach",
        "stash" => "drop clear pop",
        "remote" => "add remove rm rename set-url set-head set-branches prune update",
        "reflog" => "expire delete",
        "worktree" => "add remove move prune",
        _ => "-c -C",
    };
    Options {
        short,
        long: LONG,
        exact,
        prefixes: "ext::",
    }
}

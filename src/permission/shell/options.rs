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
    /// For a program of which many options run or write something: those that do not. Any other must be spelled.
    pub(super) only: Option<Only>,
    /// Whether what stands behind the first operand belongs to a script and not to the program.
    pub(super) ends_at_operand: bool,
}

/// The options of a program that neither run nor write anything.
#[derive(Clone, Copy, Debug)]
pub(super) struct Only {
    /// Letters of short options.
    short: &'static str,
    /// Letters of short options that take a value, attached or in the next word.
    valued: &'static str,
    /// Long options, by blanks, to the letter.
    long: &'static str,
}

impl Only {
    /// Whether `option` is one of them.
    pub(super) fn covers(&self, option: &str) -> bool {
        if option.starts_with("--") {
            let name = option.split('=').next().unwrap_or(option);
            return self.long.split_whitespace().any(|long| long == name);
        }
        for letter in option.chars().skip(1) {
            if self.valued.contains(letter) {
                return true;
            }
            if !self.short.contains(letter) && !letter.is_ascii_digit() {
                return false;
            }
        }
        true
    }
}

const NONE: Options = Options {
    short: "",
    long: "",
    exact: "",
    prefixes: "",
    only: None,
    ends_at_operand: false,
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
                --script --preload --use-compress-program --compress-program --to-command --checkpoint-action --pre \
                --preview --bind --cmd --run-command --browser --launcher --interpreter --lua-filter --hook --askpass",
    ..NONE
};

/// Whether it has no option that writes or starts anything.
pub(super) fn is_harmless(program: &str) -> bool {
    HARMLESS.split_whitespace().any(|known| known == program)
}

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
        "shuf" | "iconv" | "sdiff" => Options {
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
            short: "IFPTgM",
            long: "--checkpoint-action --checkpoint --to-command --use-compress-program --rsh-command --info-script \
                --new-volume-script --absolute-names --rmt-command --files-from --listed-incremental --index-file \
                --volno-file --remove-files --multi-volume --recursive-unlink",
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
            only: Some(Only {
                short: "nErsuz",
                valued: "el",
                long: "--quiet --silent --regexp-extended --separate --unbuffered --null-data --zero-terminated --posix \
                    --debug --sandbox --help --version --expression --line-length",
            }),
            ..NONE
        },
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => Options {
            only: Some(Only {
                short: "cPrSsnNMbkVhtO",
                valued: "Fv",
                long: "--field-separator --assign --version --help --posix --traditional --re-interval --sandbox --csv \
                    --characters-as-bytes --bignum --non-decimal-data --use-lc-numeric --optimize --no-optimize",
            }),
            ..NONE
        },
        "tree" => Options {
            only: Some(Only {
                short: "adflxqNQpsuhgDFirtcUvCAnSXJ",
                valued: "LPI",
                long: "--help --version --dirsfirst --filesfirst --du --prune --noreport --gitignore --si --inodes --device \
                    --matchdirs --ignore-case --metafirst --sort --charset --filelimit --timefmt --info",
            }),
            ..NONE
        },
        "split" => Options {
            long: "--filter",
            ..NONE
        },
        "install" => Options {
            short: "s",
            long: "--strip --strip-program",
            ..NONE
        },
        "patch" => Options {
            short: "oerBz",
            long: "--output --ed --reject-file --get",
            ..NONE
        },
        "ssh-keygen" | "ssh-add" => Options {
            short: "DswS",
            ..NONE
        },
        "apt" | "apt-get" | "apt-cache" | "aptitude" | "dpkg" => Options {
            short: "oc",
            long: "--option --config-file --pre-invoke --post-invoke --root --admindir --status-logger",
            ..NONE
        },
        "dnf" | "yum" | "rpm" | "zypper" | "pacman" => Options {
            short: "cED",
            long: "--setopt --config --eval --define --pipe --rcfile --macros --load --root --hookdir --plugin",
            ..NONE
        },
        "pandoc" => Options {
            short: "oFLd",
            long: "--filter --lua-filter --pdf-engine --output --template --extract-media --log --defaults \
                --syntax-definition --data-dir",
            ..NONE
        },
        "xmllint" | "xsltproc" => Options {
            short: "o",
            long: "--output --shell --writesubtree --path",
            ..NONE
        },
        "fzf" | "sk" => Options {
            long: "--preview --bind --execute --history --listen --with-shell",
            ..NONE
        },
        "mysql" | "mariadb" => Options {
            short: "e",
            long: "--execute --pager --tee --init-command --plugin-dir --defaults-file --defaults-extra-file",
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
        "perl" => interpreter("vwWtTh", "--version --help"),
        "ruby" => interpreter("vwh", "--version --help --verbose"),
        "python" | "pypy" => interpreter("VuBOEsSIvqbhPxdR", "--version --help"),
        "php" => interpreter("vimhl", "--version --help"),
        "lua" | "luajit" => interpreter("v", ""),
        "node" | "nodejs" => Options {
            short: "reCi",
            long: "--require --import --loader --experimental-loader --env-file --eval --print --inspect \
                --experimental-config-file --test-reporter --test-global-setup --run --build-snapshot --cpu-prof-dir \
                --diagnostic-dir --redirect-warnings --report-dir --openssl-config --trace-event-file-pattern",
            ..NONE
        },
        "curl" => Options {
            only: Some(Only {
                short: "sSfLIivkgG46#Nqhl0123VjBMp",
                valued: "mAHeryYzCuUw",
                long: "--silent --show-error --fail --fail-with-body --fail-early --location --head --include --verbose \
                    --insecure --globoff --get --ipv4 --ipv6 --progress-bar --no-progress-meter --no-buffer --help \
                    --version --http1.0 --http1.1 --http2 --http2-prior-knowledge --http3 --tlsv1 --tlsv1.0 --tlsv1.1 \
                    --tlsv1.2 --tlsv1.3 --tls-max --max-time --connect-timeout --user-agent --referer --header --range \
                    --speed-time --speed-limit --time-cond --retry --retry-delay --retry-max-time --retry-connrefused \
                    --retry-all-errors --max-redirs --max-filesize --limit-rate --user --oauth2-bearer --write-out \
                    --compressed --raw --path-as-is --parallel --parallel-max --disable --tcp-nodelay --keepalive-time \
                    --proto --proto-default --proto-redir --cacert --capath --ciphers --anyauth --basic --digest \
                    --negotiate --ntlm --ssl --ssl-reqd --suppress-connect-headers --rate --list-only --post301 \
                    --post302 --post303 --no-keepalive --no-sessionid --ca-native",
            }),
            prefixes: "-H@ -w@ @",
            ..NONE
        },
        "wget" => Options {
            short: "OoaePi",
            long: "--output-document --output-file --append-output --execute --use-askpass --post-data --post-file \
                --body-data --body-file --method --input-file --config --directory-prefix --save-cookies \
                --warc-file --rejected-log --hsts-file --base --header-file --pinnedpubkey",
            ..NONE
        },
        "rsync" | "scp" | "sftp" => Options {
            short: "eSoFDM",
            long: "--rsh --rsync-path --remote-option --daemon --config --dparam --files-from --log-file --write-batch --only-write-batch --temp-dir --backup-dir \
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
            long: "--open --fix --lockfile-path --config --manifest-path --target-dir --out-dir --artifact-dir --registry --index --git --root \
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
            only: Some(Only {
                short: "afkKwWiIhVu7d",
                valued: "sSLeE",
                long: "--all --whatis --apropos --where --path --location --where-cat --sections --names-only --wildcard \
                    --regex --ignore-case --match-case --usage --help --version --no-hyphenation --no-justification \
                    --no-subpages --ascii --locale --encoding --extension --global-apropos",
            }),
            ..NONE
        },
        "less" => Options {
            only: Some(Only {
                short: "aABcCdeEfFgGiIJKlLmMnNqQrRsSuUVwWXh~",
                valued: "bjxyz",
                long: "--quit-if-one-screen --RAW-CONTROL-CHARS --raw-control-chars --chop-long-lines --no-init \
                    --LINE-NUMBERS --line-numbers --ignore-case --IGNORE-CASE --quiet --silent --QUIET --SILENT \
                    --squeeze-blank-lines --tabs --window --help --version --tilde --use-color --quit-at-eof \
                    --QUIT-AT-EOF --clear-screen --force",
            }),
            ..NONE
        },
        "more" => Options {
            short: "oOkTtp",
            long: "--log-file --LOG-FILE --lesskey-file --lesskey-src --lesskey-content",
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
            prefixes: "-out -engine -provider -passout -writerand -config -sess_out -keylogfile -keyout -rand -CAserial",
            ..NONE
        },
        "jq" => Options {
            short: "L",
            long: "--library-path",
            ..NONE
        },
        "sqlite" => Options {
            prefixes: "-init -cmd --init --cmd . -A -ar",
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

/// An interpreter: what stands behind its script belongs to the script.
const fn interpreter(short: &'static str, long: &'static str) -> Options {
    Options {
        only: Some(Only {
            short,
            valued: "",
            long,
        }),
        ends_at_operand: true,
        ..NONE
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
        "submodule" => "foreach add set-url update",
        "maintenance" => "start register unregister stop",
        "bundle" => "create unbundle",
        "notes" => "edit merge add append copy remove prune",
        "sparse-checkout" => "",
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
        ..NONE
    }
}

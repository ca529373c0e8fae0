//! The options of each known program that a wildcard never matches, and what each of them does.
//!
//! A line is one risk: how the program reads the options, the options, what they can do. Programs that share their options
//! share an entry. `git clone` is what `git` adds for that subcommand, `git *` what it adds for any subcommand without an
//! entry of its own.

use super::git_options::OF_GIT;
use Risky::{Beginning, Flag, HarmlessOnly, HarmlessValue, ScriptFollows, Word};

/// Options of one risk, and the risk.
#[derive(Clone, Copy, Debug)]
pub(in crate::permission::shell) enum Risky {
    /// Read as getopt does: `-o` alone or in a cluster of letters, `--output` or any beginning of it.
    Flag(&'static str, &'static str),
    /// Whole words, alone or with `=` and a value.
    Word(&'static str, &'static str),
    /// Any word that begins so.
    Beginning(&'static str, &'static str),
    /// The only harmless options; any other is risky, for the reason given.
    HarmlessOnly(&'static str, &'static str),
    /// Harmless options too, whose value is attached or in the next word.
    HarmlessValue(&'static str),
    /// Everything after the first operand belongs to a script, not to the program.
    ScriptFollows,
}

/// Programs that have no option that writes somewhere or starts a program, but for those that an entry below names.
pub(in crate::permission::shell) const HARMLESS: &str = "[ arch base32 base64 basename cat cd chmod chown cksum cmp col colordiff \
    column comm cp cut df diff dirname du echo egrep expand false fgrep fold free getconf grep groups head hexdump id \
    join kill ln ls lsblk lscpu md5sum mkdir mv nl nproc numfmt od paste pgrep ps pwd readlink realpath rev rm rmdir \
    seq sha1sum sha256sum sha512sum sleep stat strings tac tail tee test touch tr true tty uname unexpand uptime wc \
    which whoami";

/// What counts as risky for a program without an entry here.
#[rustfmt::skip]
pub(in crate::permission::shell) const UNKNOWN: &[Risky] = &[
    Flag("-o --output --output-file --outfile",                         "writes a file"),
    Flag("--exec --execute --eval --command --cmd --run-command",       "runs a command"),
    Flag("--script --lua-filter --hook --pre --preview --bind",         "runs a command or a script"),
    Flag("--pager --editor --browser --launcher --askpass",             "starts another program"),
    Flag("--shell --rsh --interpreter",                                 "starts another program"),
    Flag("--compress-program --use-compress-program --to-command",      "starts another program"),
    Flag("--checkpoint-action",                                         "starts another program"),
    Flag("--plugin --require --preload",                                "loads code"),
    Flag("--config --config-file --rcfile --init-file",                 "reads settings that may name programs"),
    Flag("--upload-file --post-file",                                   "sends a file elsewhere"),
];

/// Every known program but git, whose entries are [`OF_GIT`].
#[rustfmt::skip]
pub(in crate::permission::shell) const PROGRAMS: &[(&str, &[Risky])] = &[
    // Files and folders.
    ("find", &[
        Word("-exec -execdir -ok -okdir",                       "runs a command for what it finds"),
        Word("-delete",                                         "deletes what it finds"),
        Word("-fprint -fprint0 -fprintf -fls",                  "writes a file"),
        Word("-files0-from",                                    "takes the folders from a file"),
    ]),
    ("fd, fdfind", &[Flag("-x -X --exec --exec-batch",           "runs a command for what it finds")]),
    ("tree", &[
        HarmlessOnly("-a -d -f -l -x -q -N -Q -p -s -u -h -g -D -F -i -r -t -c -U -v -C -A -n -S -X -J \
            --help --version --dirsfirst --filesfirst --du --prune --noreport --gitignore --si --inodes --device \
            --matchdirs --ignore-case --metafirst --sort --charset --filelimit --timefmt --info",
            "it may write a file (`-o`)"),
        HarmlessValue("-L -P -I"),
    ]),
    ("file", &[
        Flag("-C --compile",                                    "writes a file"),
        Flag("-f --files-from",                                 "takes names from a file"),
    ]),
    ("cp, mv, ln", &[Flag("-t --target-directory",              "writes in another folder")]),
    ("wc, du", &[Flag("--files0-from",                          "takes names from a file")]),
    ("diff", &[Flag("--from-file --to-file",                    "reads another file")]),
    ("install", &[
        Flag("-s --strip --strip-program",                      "starts another program"),
        Flag("-t --target-directory",                           "writes in another folder"),
    ]),
    ("tar, gtar, bsdtar", &[
        Flag("-I --use-compress-program",                       "starts another program"),
        Flag("-F --info-script --new-volume-script",            "runs a script at the end of each volume"),
        Flag("--checkpoint --checkpoint-action --to-command", "runs a command"),
        Flag("--rsh-command --rmt-command",                     "starts the program that reaches another machine"),
        Flag("-P --absolute-names",                             "writes outside the folder"),
        Flag("-T --files-from",                                 "takes names, and options, from a file"),
        Flag("-g --listed-incremental --index-file --volno-file", "writes a file"),
        Flag("--remove-files --recursive-unlink",               "deletes files"),
        Flag("-M --multi-volume",                               "asks for further volumes, which may run a script"),
    ]),
    ("zip", &[
        Flag("-T --test --unzip-command",                       "starts another program"),
        Flag("-O --output-file --out",                          "writes another file"),
    ]),
    ("cpio, pax", &[
        Flag("-F --to-stdout",                                  "takes another archive, on another machine too"),
        Flag("--rsh-command",                                   "starts the program that reaches another machine"),
    ]),
    ("rsync, scp, sftp", &[
        Flag("-e -S --rsh --rsync-path",                        "starts another program"),
        Flag("-o -F -M -D --remote-option",                     "sets options that may name programs"),
        Flag("--daemon --config --dparam",                      "serves files, by settings that may name programs"),
        Flag("--files-from",                                    "takes names from a file"),
        Flag("--log-file --write-batch --only-write-batch",     "writes a file"),
        Flag("--temp-dir --backup-dir",                         "writes in another folder"),
        Flag("--remove-source-files --delete",                  "deletes files"),
    ]),

    // Text.
    ("sort", &[
        Flag("-o --output",                                     "writes a file"),
        Flag("-T --temporary-directory",                        "writes in another folder"),
        Flag("--compress-program",                              "starts another program"),
        Flag("--files0-from",                                   "takes names from a file"),
    ]),
    ("shuf, iconv, sdiff", &[
        Flag("-o --output",                                     "writes a file"),
        Flag("--diff-program",                                  "starts another program"),
    ]),
    ("diff3", &[Flag("--diff-program",                          "starts another program")]),
    ("split", &[Flag("--filter",                                "runs a command for each piece")]),
    ("patch", &[
        Flag("-o -r -B -z --output --reject-file",              "writes other files than those it patches"),
        Flag("-d --directory",                                  "writes in another folder"),
        Flag("-e --ed",                                         "hands the patch to an editor that runs commands"),
        Flag("--get",                                           "starts the program of a version control"),
    ]),
    ("sed, gsed", &[
        HarmlessOnly("-n -E -r -s -u -z --quiet --silent --regexp-extended --separate --unbuffered --null-data \
            --zero-terminated --posix --debug --sandbox --help --version --expression",
            "it may write files or take its script from one"),
        HarmlessValue("-e"),
    ]),
    ("awk, gawk, mawk, nawk, original-awk", &[
        HarmlessOnly("-c -P -r -S -s -n -N -M -b -k -V -h -t -O --field-separator --assign --version --help --posix \
            --traditional --re-interval --sandbox --csv --characters-as-bytes --bignum --non-decimal-data \
            --use-lc-numeric --optimize --no-optimize",
            "it may load code or write files"),
        HarmlessValue("-F -v"),
    ]),
    ("rg", &[
        Flag("--pre --hostname-bin",                            "starts another program"),
        Flag("-z --search-zip",                                 "starts the programs that unpack"),
    ]),
    ("ag, ack", &[
        Flag("--pager --ackrc",                                 "starts another program, or reads settings that name one"),
        Flag("--output",                                        "evaluates what it prints"),
    ]),
    ("jq", &[Flag("-L --library-path",                          "loads code from another folder")]),
    ("yq", &[Flag("-i --inplace --in-place -s --split-exp",     "writes files")]),
    ("printf", &[
        Word("-v",                                              "sets a variable, and evaluates its name"),
        Beginning("-v",                                         "sets a variable, and evaluates its name"),
    ]),
    ("pandoc", &[
        Flag("-o --output --extract-media --log",               "writes files"),
        Flag("-F --filter -L --lua-filter --pdf-engine",        "runs a program or a script"),
        Flag("-d --defaults --template --syntax-definition --data-dir", "reads settings that may name programs"),
    ]),
    ("xmllint, xsltproc", &[
        Flag("-o --output --writesubtree",                      "writes files"),
        Flag("--shell",                                         "reads commands"),
        Flag("--path",                                          "loads from another folder"),
    ]),
    ("fzf, sk", &[
        Flag("--preview --bind --execute --with-shell",         "runs commands"),
        Flag("--listen",                                        "takes commands from the network"),
        Flag("--history",                                       "writes a file"),
    ]),
    ("man", &[
        HarmlessOnly("-a -f -k -K -w -W -i -I -h -V -u -7 -d --all --whatis --apropos --where --path --location \
            --where-cat --sections --names-only --wildcard --regex --ignore-case --match-case --usage --help --version \
            --no-hyphenation --no-justification --no-subpages --ascii --locale --encoding --extension --global-apropos",
            "it may start another program"),
        HarmlessValue("-s -S -L -e -E"),
    ]),
    ("less", &[
        HarmlessOnly("-a -A -B -c -C -d -e -E -f -F -g -G -i -I -J -K -l -L -m -M -n -N -q -Q -r -R -s -S -u -U -V -w \
            -W -X -h -~ --quit-if-one-screen --RAW-CONTROL-CHARS --raw-control-chars --chop-long-lines --no-init \
            --LINE-NUMBERS --line-numbers --ignore-case --IGNORE-CASE --quiet --silent --QUIET --SILENT \
            --squeeze-blank-lines --tabs --window --help --version --tilde --use-color --quit-at-eof --QUIT-AT-EOF \
            --clear-screen --force",
            "it may write a file or read commands"),
        HarmlessValue("-b -j -x -y -z"),
    ]),
    ("more", &[
        Flag("-o -O --log-file --LOG-FILE",                     "writes a file"),
        Flag("-k --lesskey-file --lesskey-src --lesskey-content", "sets what its keys do"),
        Flag("-T -t -p",                                        "runs commands of its own"),
    ]),
    ("vim, vi, nvim, view, ex, gvim, rvim, rview, vimdiff, gvimdiff, nvimdiff, emacs, emacsclient, nano, pico, micro", &[
        Flag("-c -S -u -U -s -l -V -i -o -e --cmd --eval --load --script --execute", "runs commands or code"),
        Flag("-w -W --batch",                                   "writes files, or runs without a person"),
        Flag("--backupdir --operatingdir",                      "writes in another folder"),
    ]),

    // The system.
    ("date, hwclock", &[
        Flag("-s --set",                                        "sets the clock"),
        Flag("-f --file",                                       "reads a file"),
    ]),
    ("ss", &[
        Flag("-D --diag",                                       "writes a file"),
        Flag("-F --filter",                                     "reads a file"),
        Flag("-K --kill",                                       "closes connections"),
    ]),
    ("gpg, gpg2", &[
        Flag("-o --output --status-file --logger-file --attribute-file", "writes a file"),
        Flag("--agent-program --dirmngr-program --keyboxd-program --pinentry-mode", "starts another program"),
        Flag("--photo-viewer --exec-path --load-extension",     "starts another program, or loads code"),
        Flag("--homedir --options --config --keyring --trustdb-name", "reads settings that may name programs"),
    ]),
    ("svn, svnadmin, svnsync", &[
        Flag("--diff-cmd --diff3-cmd --editor-cmd",             "starts another program"),
        Flag("--config-dir --config-option",                    "sets configuration, which may name programs"),
        Flag("-F --file --targets",                             "takes text or names from a file"),
    ]),
    ("hg", &[
        Flag("--config --debugger --profile",                   "sets configuration, which may name programs"),
        Flag("-R --repository --cwd",                           "works in another repository, whose hooks it runs"),
        Flag("-e --ssh --remotecmd --tool -t",                  "starts another program"),
        Flag("-o --output",                                     "writes a file"),
    ]),
    ("journalctl", &[
        Flag("-D -M --directory --root",                        "reads the logs of another system"),
        Flag("--vacuum-size --vacuum-time --vacuum-files --rotate", "deletes logs"),
        Flag("--flush --sync --relinquish-var --update-catalog --setup-keys --cursor-file", "writes files"),
    ]),
    ("systemctl", &[Flag("-H -M --host --machine --root --image", "works on another machine or system")]),
    ("strace, ltrace, perf", &[Flag("-o",                         "writes a file, or starts a program with it")]),
    ("ssh-keygen, ssh-add", &[
        Flag("-D -w -S",                                        "loads a library"),
        Flag("-s",                                              "loads a library, or signs"),
    ]),
    ("openssl", &[
        Beginning("-out -writerand -rand -keyout -sess_out -keylogfile -CAserial", "reads or writes a file"),
        Beginning("-engine -provider -config",                  "loads code, or settings that name it"),
        Beginning("-passout",                                   "writes a secret"),
        // Each of its options may have two dashes.
        Beginning("--out --writerand --rand --keyout --sess_out --keylogfile --CAserial", "reads or writes a file"),
        Beginning("--engine --provider --config --passout",     "loads code, or writes a secret"),
    ]),

    // Packages.
    ("apt, apt-get, apt-cache, aptitude, dpkg", &[
        Flag("-o --option -c --config-file",                    "sets configuration, which may name programs"),
        Flag("--pre-invoke --post-invoke --status-logger",      "runs a command"),
        Flag("--root --admindir",                               "works on another system"),
    ]),
    ("dnf, yum, rpm, zypper, pacman", &[
        Flag("-c --config --setopt --rcfile --macros",          "sets configuration, which may name programs"),
        Flag("-E --eval -D --define --pipe --load",             "runs a command or a macro that does"),
        Flag("--hookdir --plugin",                              "runs programs from another folder"),
        Flag("--root",                                          "works on another system"),
    ]),
    ("npm, pnpm, yarn, bun", &[
        Flag("-c --call",                                       "runs a command"),
        Flag("-C --prefix --cwd --dir --local-prefix --global", "works in another folder, whose scripts it runs"),
        Flag("--script-shell --shell --editor --viewer --browser --git", "starts another program"),
        Flag("--node-options --init-module --preload",          "loads code"),
        Flag("--config --userconfig --globalconfig --use-yarnrc --cache", "reads settings that may name programs"),
        Flag("--registry",                                      "takes packages from elsewhere"),
        Flag("--node-gyp --python --onload-script",             "starts another program, or loads code"),
        Flag("--logs-dir --tmp",                                "writes in another folder"),
    ]),
    ("pip, pipx, uv", &[
        Flag("-i --index-url --extra-index-url --index -f --find-links --proxy", "takes packages from elsewhere"),
        Flag("-r --requirement --constraint -e --editable",     "takes what to install from a file or a folder"),
        Flag("-t --target -E --prefix --root --log --cache-dir", "writes in another folder"),
        Flag("-C --config-settings --global-option",            "hands options to code that builds"),
        Flag("--python",                                        "starts another program"),
        Beginning("git+ http: https: file:",                    "installs from an address, which runs its code"),
    ]),

    // Building and testing.
    ("cargo", &[
        Flag("-Z --config",                                     "sets configuration, which may name programs"),
        Flag("-C --manifest-path --path --lockfile-path",       "works in another folder, whose code it runs"),
        Flag("--target-dir --out-dir --artifact-dir --root",    "writes in another folder"),
        Flag("--git --registry --index",                        "takes packages from elsewhere"),
        Flag("--fix",                                           "changes the sources"),
        Flag("--open",                                          "starts the browser"),
    ]),
    // Rust's test programs, to which `cargo test --` hands what follows.
    ("libtest", &[Flag("--logfile",                             "writes a file")]),
    ("rustc", &[
        Flag("-o --out-dir --emit",                             "writes files"),
        Flag("-C --codegen -L -Z --sysroot",                    "starts another linker, or loads code"),
    ]),
    ("gcc, cc, clang, g++, c++, clang++", &[
        Word("-wrapper",                                        "starts another program"),
        Word("-o",                                              "writes a file"),
        Beginning("-o",                                         "writes a file"),
        Beginning("-fplugin -fpass-plugin -load -Xlinker -Wl,", "loads code, or hands options to the linker"),
        Beginning("-Xclang -Xassembler -Xpreprocessor -Wa, -Wp, --for-linker --for-assembler", "hands options on"),
        Beginning("-B --prefix -specs --specs -fuse-ld --ld-path", "takes the compiler's programs from elsewhere"),
        Beginning("--output -MF -aux-info -dump -fdump -save-temps --save-temps", "writes files"),
        Beginning("@",                                          "takes options from a file"),
    ]),
    ("make, gmake", &[
        Flag("-f --file --makefile -I --include-dir",           "runs the rules of another file"),
        Flag("-C --directory",                                  "runs the rules of another folder"),
        Flag("-E --eval",                                       "runs rules that are given"),
        Flag("-W --what-if",                                    "takes files as changed"),
    ]),
    ("ninja", &[
        Flag("-f -C",                                           "runs the rules of another file or folder"),
        Flag("-t",                                              "runs a tool of its own, some of which delete"),
    ]),
    ("just", &[
        Flag("-f --justfile -d --working-directory",            "runs the rules of another file or folder"),
        Flag("--shell --shell-arg --command --chooser --edit", "starts another program"),
        Flag("--set",                                           "replaces a variable, which commands use"),
    ]),
    ("cmake", &[
        Flag("-P -E --build --install",                         "runs a script, a command or a build"),
        Flag("-D -C",                                           "sets variables, which may name programs"),
        Flag("--open",                                          "starts another program"),
    ]),
    ("gradle, gradlew", &[
        Flag("-I --init-script -b --build-file -c --settings-file", "runs another script"),
        Flag("-p --project-dir --include-build",                "runs the scripts of another folder"),
        Flag("-g --gradle-user-home",                           "reads settings of another folder"),
    ]),
    ("mvn, mvnw", &[
        Flag("-f --file",                                       "runs the build of another file"),
        Flag("-s --settings --global-settings",                 "reads settings that may name programs"),
        Flag("-D --define",                                     "sets properties, which may name programs"),
    ]),
    ("java", &[
        Beginning("-javaagent -agentlib -agentpath -XX:On",     "loads code or runs a command"),
        Beginning("-cp -classpath",                             "loads code from elsewhere"),
        Beginning("@",                                          "takes options from a file"),
    ]),
    ("go", &[
        Beginning("-exec --exec -toolexec --toolexec -vettool --vettool", "starts another program"),
        Beginning("-compiler --compiler -ldflags --ldflags -gccgoflags -gcflags -asmflags", "starts another compiler or linker"),
        Beginning("-C -overlay --overlay -modfile --modfile -pkgdir", "builds from another folder or other files"),
        Beginning("-o --o -outputdir --outputdir",              "writes files"),
        Beginning("-cpuprofile --cpuprofile -memprofile --memprofile -blockprofile -mutexprofile", "writes a file"),
        Beginning("--blockprofile --mutexprofile -test. --test.", "writes a file"),
        Beginning("--gccgoflags --gcflags --asmflags --pkgdir", "starts another compiler or linker"),
        Beginning("-trace --trace -coverprofile --coverprofile", "writes a file"),
    ]),
    ("pytest, py.test", &[
        Flag("-p --pdbcls --import-mode",                       "loads code"),
        Flag("-c --config-file -o --override-ini --cov-config", "sets configuration, which may load code"),
        Flag("--rootdir --confcutdir",                          "loads the configuration of another folder"),
        Flag("--basetemp",                                      "deletes and writes a folder"),
        Flag("--junitxml --junit-xml --result-log --log-file --cov-report --html --debug", "writes files"),
        Flag("--pastebin",                                      "sends its output elsewhere"),
        Flag("--pdb --trace",                                   "starts a debugger that reads commands"),
    ]),
    ("ruff, black, eslint, prettier, tsc, jest, vitest, mocha, webpack, rollup, vite", &[
        Flag("-c --config --project --rootDir",                 "reads settings, which are code to some of them"),
        Flag("-o --output-file --output --outFile --outDir",    "writes files"),
        Flag("--plugin --rulesdir --resolve-plugins-relative-to --require --import --loader --parser", "loads code"),
        Flag("--globalSetup --setupFilesAfterEnv --testRunner --reporters --format --formatter", "loads code"),
        Flag("--write --fix",                                   "changes the sources"),
    ]),

    // Interpreters.
    ("perl", &[ScriptFollows, HarmlessOnly("-v -w -W -t -T -h --version --help", "it may be code")]),
    ("ruby", &[ScriptFollows, HarmlessOnly("-v -w -h --version --help --verbose", "it may be code")]),
    ("python, pypy", &[
        ScriptFollows,
        HarmlessOnly("-V -u -B -O -E -s -S -I -v -q -b -h -P -x -d -R --version --help", "it may be code"),
    ]),
    ("php", &[ScriptFollows, HarmlessOnly("-v -i -m -h -l --version --help", "it may be code")]),
    ("lua, luajit", &[ScriptFollows, HarmlessOnly("-v", "it may be code")]),
    ("node, nodejs", &[
        Flag("-e --eval --print -i",                            "runs code"),
        Flag("-r --require --import --loader --experimental-loader", "loads code"),
        Flag("--run",                                           "runs a command of the package"),
        Flag("--test-reporter --test-global-setup",             "loads code"),
        Flag("-C --env-file --experimental-config-file --openssl-config", "sets what is loaded"),
        Flag("--inspect",                                       "takes commands from the network"),
        Flag("--build-snapshot --cpu-prof-dir --diagnostic-dir --redirect-warnings", "writes files"),
        Flag("--report-dir --trace-event-file-pattern",         "writes files"),
    ]),

    // The network, containers and clusters.
    ("curl", &[
        HarmlessOnly("-s -S -f -L -I -i -v -k -g -G -4 -6 -# -N -q -h -l -0 -1 -2 -3 -V -j -B -M -p \
            --silent --show-error --fail --fail-with-body --fail-early --location --head --include --verbose \
            --insecure --globoff --get --ipv4 --ipv6 --progress-bar --no-progress-meter --no-buffer --help \
            --version --http1.0 --http1.1 --http2 --http2-prior-knowledge --http3 --tlsv1 --tlsv1.0 --tlsv1.1 \
            --tlsv1.2 --tlsv1.3 --tls-max --max-time --connect-timeout --user-agent --referer --header --range \
            --speed-time --speed-limit --time-cond --retry --retry-delay --retry-max-time --retry-connrefused \
            --retry-all-errors --max-redirs --max-filesize --limit-rate --user --oauth2-bearer --write-out \
            --compressed --raw --path-as-is --parallel --parallel-max --disable --tcp-nodelay --keepalive-time \
            --proto --proto-default --proto-redir --cacert --capath --ciphers --anyauth --basic --digest \
            --negotiate --ntlm --ssl --ssl-reqd --suppress-connect-headers --rate --list-only --post301 \
            --post302 --post303 --no-keepalive --no-sessionid --ca-native",
            "it may write a file, send one, or change what the request does"),
        HarmlessValue("-m -A -H -e -r -y -Y -z -C -u -U -w"),
        Beginning("-H@ -w@ @",                                  "takes a value from a file"),
    ]),
    ("wget", &[
        Flag("-O --output-document -o --output-file -a --append-output", "writes a file"),
        Flag("-P --directory-prefix --save-cookies --warc-file --rejected-log --hsts-file", "writes files"),
        Flag("-e --execute --config",                           "sets configuration"),
        Flag("--use-askpass",                                   "starts another program"),
        Flag("--method --post-data --post-file --body-data --body-file", "sends something elsewhere"),
        Flag("-i --input-file --base",                          "takes the addresses from a file"),
        Flag("--header-file --pinnedpubkey",                    "takes a value from a file"),
    ]),
    ("docker, podman, nerdctl", &[
        Flag("-H --host --context --config --tlscacert",        "works on another machine"),
        Flag("-v --volume --mount --device",                    "reaches the machine's files"),
        Flag("--privileged --pid --network --cap-add --security-opt", "takes down the container's borders"),
        Flag("--entrypoint",                                    "runs another command"),
        Flag("--output --file",                                 "writes a file, or takes its settings from one"),
    ]),
    ("docker compose, podman compose, nerdctl compose", &[
        Flag("-f",                                              "takes its settings from a file"),
    ]),
    ("terraform, tofu", &[
        Beginning("-chdir --chdir -plugin-dir --plugin-dir",    "works in another folder, whose programs it runs"),
        Beginning("-out --out -state --state -backup --backup -generate-config-out --generate-config-out", "writes a file"),
        Beginning("-backend-config --backend-config",           "sets where it keeps its state"),
    ]),
    ("ansible-playbook, ansible-inventory, ansible-galaxy, ansible-console", &[
        Flag("-i --inventory -M --module-path",                 "runs the programs of another folder"),
        Flag("--vault-password-file --vault-id --become-password-file --connection-password-file", "starts the program named"),
        Flag("--ssh-common-args --ssh-extra-args --scp-extra-args --sftp-extra-args", "sets options that may name programs"),
        Flag("-e --extra-vars --connection -c",                 "sets variables, which may name programs"),
    ]),
    ("aws", &[
        Flag("--endpoint-url --cli-input-json --cli-input-yaml --ca-bundle", "asks another server, or takes its settings from a file"),
    ]),
    ("helm", &[
        Flag("--output-dir",                                    "writes files"),
        Flag("--post-renderer --kubeconfig --repository-config --registry-config", "starts another program, or reads settings"),
    ]),
    ("restic, rclone", &[
        Flag("-o --option --password-command --config --sftp-ssh", "starts another program, or reads settings"),
    ]),
    ("aria2c", &[
        Beginning("--on-",                                      "runs a command when it is done"),
        Flag("-o -d --out --dir --conf-path --save-session --log -l", "writes elsewhere, or reads settings"),
        Flag("-i --input-file",                                 "takes the addresses from a file"),
    ]),
    // They say with `-o` how they print.
    ("az, findmnt, blkid, netstat, lsof, nmcli, loginctl", &[]),
    ("kubectl, oc", &[
        Flag("-s --kubeconfig --server --token --as --proxy-url", "works on another cluster or as someone else"),
        Flag("--raw",                                           "asks for any address of the cluster"),
        Flag("--cache-dir",                                     "writes in another folder"),
    ]),

    // Databases.
    ("mysql, mariadb", &[
        Flag("-e --execute --init-command",                     "runs statements"),
        Flag("--pager",                                         "starts another program"),
        Flag("--tee",                                           "writes a file"),
        Flag("--plugin-dir",                                    "loads code"),
        Flag("--defaults-file --defaults-extra-file",           "reads settings that may name programs"),
    ]),
    ("pg_dump, pg_dumpall", &[Flag("-f --file",                   "writes a file")]),
    ("mysqldump, mariadb-dump", &[Flag("-r --result-file -T --tab", "writes a file")]),
    ("sqlite, duckdb", &[
        Beginning("-init --init -cmd --cmd .",                  "runs statements or commands"),
        Beginning("-A -ar",                                     "reads or writes an archive"),
    ]),
    ("psql", &[
        Flag("-c --command -f --file",                          "runs statements or commands"),
        Flag("-o --output -L --log-file",                       "writes a file"),
        Flag("--variable",                                      "sets a variable, which commands use"),
    ]),
];

// A line that names no risk, or an option that is neither like `-o` nor like `--output`, does not compile.
const _: () = {
    assert!(are_well_formed(UNKNOWN));
    assert!(all_are_well_formed(PROGRAMS));
    assert!(all_are_well_formed(OF_GIT));
};

const fn all_are_well_formed(entries: &[(&str, &[Risky])]) -> bool {
    let mut at = 0;
    while at < entries.len() {
        if !are_well_formed(entries[at].1) {
            return false;
        }
        at += 1;
    }
    true
}

const fn are_well_formed(lines: &[Risky]) -> bool {
    let mut at = 0;
    while at < lines.len() {
        let is_well_formed = match lines[at] {
            Flag(options, risk) | HarmlessOnly(options, risk) => {
                are_flags(options.as_bytes()) && !risk.is_empty()
            }
            Word(words, risk) | Beginning(words, risk) => !words.is_empty() && !risk.is_empty(),
            HarmlessValue(options) => are_flags(options.as_bytes()),
            ScriptFollows => true,
        };
        if !is_well_formed {
            return false;
        }
        at += 1;
    }
    true
}

/// Whether each word of `options` is a letter after one dash or a name after two.
const fn are_flags(options: &[u8]) -> bool {
    let mut at = 0;
    while at < options.len() {
        let start = at;
        while at < options.len() && options[at] != b' ' {
            at += 1;
        }
        let length = at - start;
        let is_flag =
            length >= 2 && options[start] == b'-' && (length == 2) == (options[start + 1] != b'-');
        if length > 0 && !is_flag {
            return false;
        }
        at += 1;
    }
    !options.is_empty()
}

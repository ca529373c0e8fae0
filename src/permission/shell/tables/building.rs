//! Programs that build, check and test: which of their options and operands are harmless.

use super::options::Entry;
use super::options::Operands::{Any, NoResponseFile};
use super::options::Rule::{
    Beginning, Flag, Harmless, HarmlessBeginning, HarmlessValue, HarmlessWord, HarmlessWordValue,
    Subcommands, Takes, Word,
};

#[rustfmt::skip]
pub(super) const PROGRAMS: &[Entry] = &[
    // Rust.
    ("cargo", &[
        Flag("-Z --config",                                     "sets configuration, which may name programs"),
        Flag("-C --manifest-path --path --lockfile-path",       "works in another folder, whose code it runs"),
        Flag("--target-dir --out-dir --artifact-dir --root",    "writes in another folder"),
        Flag("--git --registry --index",                        "takes packages from elsewhere"),
        Flag("--fix",                                           "changes the sources"),
        Flag("--open",                                          "starts the browser"),
        Harmless("-r -v -q -i -d -n -w --release --all --workspace --all-targets --all-features --no-default-features --lib --bins \
            --tests --examples --benches --doc --no-run --no-fail-fast --locked --offline --frozen --verbose --quiet \
            --keep-going --check --no-deps --document-private-items --duplicates --list --ignore-rust-version \
            --future-incompat-report --unit-graph --dry-run --no-capture --nocapture --ignored --fail-fast --no-tests \
            --cargo-quiet --precise --breaking --aggressive --recursive --dev --build --optional --no-optional"),
        HarmlessValue("-p -F -j -e -E -P --package --features --bin --test --example --bench --jobs --message-format --profile \
            --exclude --depth --edges --invert --format --color --filter-expr --run-ignored --retries --partition \
            --test-threads --status-level --final-status-level --success-output --failure-output --cargo-profile \
            --format-version --filter-platform --charset --prune --rename --vers --version-req --limit"),
        Takes(NoResponseFile),
    ]),
    // Rust's test programs, to which `cargo test --` hands what follows.
    ("libtest", &[
        Flag("--logfile",                                       "writes a file"),
        Harmless("-q --nocapture --no-capture --ignored --include-ignored --exact --show-output --list --quiet --report-time \
            --bench --test --shuffle"),
        HarmlessValue("--test-threads --skip --color --format --shuffle-seed"),
        Takes(NoResponseFile),
    ]),
    ("rustc", &[
        Flag("-o --out-dir --emit",                             "writes files"),
        Flag("-C --codegen -L -Z --sysroot",                    "starts another linker, or loads code"),
        Harmless("-O -g -V -v --test --verbose"),
        HarmlessValue("-D -W -A -F --edition --crate-type --cap-lints --explain --deny --warn --allow --forbid"),
    ]),
    ("rustfmt", &[
        Harmless("-q -v -l --check --quiet --verbose --files-with-diff"),
        HarmlessValue("--edition --color --style-edition"),
    ]),

    // C.
    ("gcc, cc, clang, g++, c++, clang++", &[
        Word("-wrapper",                                        "starts another program"),
        Word("-o",                                              "writes a file"),
        Beginning("-o",                                         "writes a file"),
        Beginning("-fplugin -fpass-plugin -load -Xlinker -Wl,", "loads code, or hands options to the linker"),
        Beginning("-Xclang -Xassembler -Xpreprocessor -Wa, -Wp, --for-linker --for-assembler", "hands options on"),
        Beginning("-B --prefix -specs --specs -fuse-ld --ld-path --config", "takes the compiler's programs from elsewhere"),
        Beginning("--output -MF -aux-info -dump -fdump -save-temps --save-temps", "writes files"),
        HarmlessWord("-c -E -S -g -g0 -g1 -g2 -g3 -ggdb -v -w -s -pipe -pthread -static -shared -fPIC -fPIE -fpic -fpie -pie \
            -no-pie -ansi -pedantic -pedantic-errors -Wall -Wextra -Werror -Wpedantic -Wshadow -Wconversion -Wformat -Wunused \
            -Wsign-conversion -Wcast-align -Wstrict-prototypes -Wundef -Wvla -Weverything -fsyntax-only -fopenmp -m32 -m64 \
            -MMD -MD -M -MM -MP -nostdinc -nostdlib -ffreestanding -fno-exceptions -fno-rtti -funsigned-char -fsigned-char \
            -fno-omit-frame-pointer -fstack-protector-strong -fno-common -ffast-math -flto -dumpversion -dumpmachine \
            -fno-strict-aliasing -fwrapv -fanalyzer"),
        HarmlessBeginning("-O -std= -D -U -I -L -l -Wno- -Werror= -march= -mtune= -fsanitize= -fvisibility= -fdiagnostics-color"),
        HarmlessWordValue("-x -isystem -idirafter -iquote"),
        Takes(NoResponseFile),
    ]),
    ("clang-format", &[
        Harmless("-n --dry-run --Werror --verbose --list-ignored"),
        HarmlessWordValue("-style -lines -assume-filename --fallback-style"),
    ]),
    ("make, gmake", &[
        Flag("-f --file --makefile -I --include-dir",           "runs the rules of another file"),
        Flag("-C --directory",                                  "runs the rules of another folder"),
        Flag("-E --eval",                                       "runs rules that are given"),
        Flag("-W --what-if",                                    "takes files as changed"),
        // Their numbers may be left out, so that they take no next word.
        Harmless("-j -l -O -k -n -s -B -q -i -w -t -v -d -r -R -p -S --jobs --load-average --output-sync --keep-going --dry-run \
            --just-print --silent --quiet --always-make --no-print-directory --print-directory --trace --debug --question \
            --touch --warn-undefined-variables --no-builtin-rules --no-builtin-variables --print-data-base --ignore-errors \
            --no-silent --no-keep-going --stop --version"),
    ]),
    ("ninja, samu", &[
        Flag("-f -C",                                           "runs the rules of another file or folder"),
        Flag("-t",                                              "runs a tool of its own, some of which delete"),
        Harmless("-n -v --verbose --quiet"),
        HarmlessValue("-j -k -l -d"),
    ]),
    ("just", &[
        Flag("-f --justfile -d --working-directory",            "runs the rules of another file or folder"),
        Flag("--shell --shell-arg --command --chooser --edit",  "starts another program"),
        Flag("--set",                                           "replaces a variable, which commands use"),
        Harmless("-l -n -q -v -u --list --dry-run --quiet --verbose --summary --unsorted --no-deps --dump --timestamp"),
        HarmlessValue("-s --show --color"),
    ]),
    ("task, go-task", &[Harmless("-l -a -s -n -v -p --list --list-all --summary --dry --verbose --parallel --silent --status")]),
    ("cmake", &[
        Flag("-P -E --build --install",                         "runs a script, a command or a build"),
        Flag("-D -C",                                           "sets variables, which may name programs"),
        Flag("--open",                                          "starts another program"),
        Harmless("-L -N --list-presets --version"),
        HarmlessValue("-G"),
    ]),
    ("ctest", &[
        HarmlessWord("-V -VV -N -Q -U --output-on-failure --rerun-failed --verbose --progress --stop-on-failure --quiet \
            --extra-verbose --show-only --print-labels"),
        HarmlessWordValue("-j -R -E -L -LE -I --parallel --tests-regex --exclude-regex --label-regex --label-exclude \
            --timeout --repeat"),
        HarmlessBeginning("-j1 -j2 -j3 -j4 -j5 -j6 -j7 -j8 -j9"),
        Takes(Any),
    ]),
    ("meson, muon", &[
        Word("devenv internal env2mfile wrap",                  "runs a command, or code"),
        Harmless("-q -v --verbose --quiet --no-rebuild --print-errorlogs --no-stdsplit --list"),
    ]),
    ("valac, cppcheck", &[Harmless("-q -v --quiet --verbose --force --inline-suppr --check-config"), HarmlessValue("-j --enable --std --language")]),

    // Java and its kin.
    ("gradle, gradlew", &[
        Flag("-I --init-script -b --build-file -c --settings-file", "runs another script"),
        Flag("-p --project-dir --include-build",                "runs the scripts of another folder"),
        Flag("-g --gradle-user-home",                           "reads settings of another folder"),
        Harmless("-q -s -S -i -d -w -m -t -u -a --quiet --stacktrace --full-stacktrace --info --debug --warn --offline --parallel \
            --no-parallel --no-daemon --daemon --continue --rerun-tasks --dry-run --build-cache --no-build-cache --continuous \
            --refresh-dependencies --configure-on-demand --no-scan --status --stop --all --console"),
        HarmlessValue("-x --exclude-task --tests --warning-mode --max-workers --configuration --dependency"),
        Takes(NoResponseFile),
    ]),
    ("mvn, mvnw", &[
        Flag("-f --file",                                       "runs the build of another file"),
        Flag("-s --settings --global-settings",                 "reads settings that may name programs"),
        Flag("-D --define",                                     "sets properties, which may name programs"),
        HarmlessWord("-q -B -o -U -e -X -N -V -C -c -ntp -nsu -fae -ff -fn -am -amd --quiet --batch-mode --offline \
            --update-snapshots --errors --debug --non-recursive --fail-at-end --fail-fast --fail-never --also-make \
            --also-make-dependents --no-transfer-progress --no-snapshot-updates --show-version"),
        HarmlessWordValue("-T -pl -rf -P --threads --projects --resume-from --activate-profiles"),
    ]),
    ("ant", &[Harmless("-q -v -d -p -k"), HarmlessWord("-quiet -verbose -projecthelp -version -silent -emacs")]),
    ("dotnet", &[
        Word("exec run tool new nuget publish pack fsi vstest msbuild add remove workload", "runs or fetches another program"),
        Subcommands("build test restore clean list sln help format --info --version --list-sdks --list-runtimes"),
        Harmless("-v -q --no-build --no-restore --no-dependencies --nologo --list-tests --no-incremental --force --verify-no-changes"),
        HarmlessValue("-c -f -r --configuration --framework --runtime --verbosity --filter"),
    ]),

    // Go.
    ("go", &[
        Word("generate tool bug telemetry",                     "runs other programs"),
        Beginning("-exec --exec -toolexec --toolexec -vettool --vettool", "starts another program"),
        Beginning("-compiler --compiler -ldflags --ldflags -gccgoflags -gcflags -asmflags", "starts another compiler or linker"),
        Beginning("-C -overlay --overlay -modfile --modfile -pkgdir", "builds from another folder or other files"),
        Beginning("-o --o -outputdir --outputdir",              "writes files"),
        Beginning("-cpuprofile --cpuprofile -memprofile --memprofile -blockprofile -mutexprofile", "writes a file"),
        Beginning("--blockprofile --mutexprofile -test. --test.", "writes a file"),
        Beginning("--gccgoflags --gcflags --asmflags --pkgdir", "starts another compiler or linker"),
        Beginning("-trace --trace -coverprofile --coverprofile", "writes a file"),
        HarmlessWord("-v -race -short -cover -failfast -json -x -n -a -benchmem -u -m -t -d -e -deps -find -trimpath -fullpath -msan \
            -asan -work -test -compiled -all -src -short -cmd -diff -s -l -versions -retracted"),
        HarmlessWordValue("-run -bench -count -timeout -covermode -coverpkg -parallel -p -tags -benchtime -cpu -list -skip -shuffle \
            -mod -buildvcs -buildmode -vet -f -installsuffix -go -run"),
        Takes(Any),
    ]),
    ("gofmt, goimports", &[
        HarmlessWord("-l -d -s -e"),
    ]),

    // Python.
    ("pytest, py.test", &[
        Flag("-p --pdbcls --import-mode",                       "loads code"),
        Flag("-c --config-file -o --override-ini --cov-config", "sets configuration, which may load code"),
        Flag("--rootdir --confcutdir",                          "loads the configuration of another folder"),
        Flag("--basetemp",                                      "deletes and writes a folder"),
        Flag("--junitxml --junit-xml --result-log --log-file --cov-report --html --debug", "writes files"),
        Flag("--pastebin",                                      "sends its output elsewhere"),
        Flag("--pdb --trace",                                   "starts a debugger that reads commands"),
        Flag("-W --pythonwarnings",                             "loads the module that the filter names"),
        Harmless("-q -v -x -s -l -h --verbose --quiet --lf --ff --nf --sw --last-failed --failed-first --new-first --stepwise \
            --stepwise-skip --exitfirst --collect-only --co --no-header --no-summary --full-trace --strict-markers \
            --strict-config --strict --disable-warnings --disable-pytest-warnings --setup-show --setup-only --setup-plan \
            --fixtures --fixtures-per-test --markers --showlocals --no-showlocals --cov-branch --no-cov --cov-append \
            --no-cov-on-fail --cache-clear --runxfail --doctest-modules --doctest-continue-on-failure --benchmark-only \
            --benchmark-skip --forked --looponfail --no-migrations --reuse-db --create-db --runslow"),
        HarmlessValue("-k -m -r -n --tb --maxfail --durations --durations-min --capture --show-capture --color --code-highlight \
            --cov --cov-fail-under --numprocesses --dist --maxprocesses --timeout --reruns --reruns-delay --ignore --ignore-glob \
            --deselect --asyncio-mode --randomly-seed --verbosity --log-level --log-cli-level --last-failed-no-failures"),
        Takes(NoResponseFile),
    ]),
    ("coverage", &[
        Harmless("-m -i -q --show-missing --ignore-errors --quiet --skip-covered --skip-empty"),
        HarmlessValue("--precision --fail-under --sort --include --omit --format"),
    ]),
    ("ruff", &[
        Flag("--config -o --output-file --cache-dir",           "reads settings, or writes a file"),
        Flag("--fix --unsafe-fixes --fix-only --add-noqa",      "changes the sources"),
        Harmless("-q -v -s -n -e --quiet --verbose --silent --diff --check --statistics --no-cache --preview --no-preview \
            --show-files --show-settings --force-exclude --respect-gitignore --exit-zero --no-fix --exit-non-zero-on-fix \
            --isolated --ignore-noqa"),
        HarmlessValue("--select --ignore --extend-select --extend-ignore --output-format --line-length --target-version --exclude \
            --extend-exclude"),
    ]),
    ("black, isort", &[
        Flag("--config --settings-path --code",                 "reads settings, or is code"),
        Harmless("-q -v -C -S --check --check-only --diff --quiet --verbose --fast --safe --color --no-color --preview \
            --skip-string-normalization --skip-magic-trailing-comma --pyi --df"),
        HarmlessValue("-l --line-length --target-version --exclude --extend-exclude --include --workers"),
    ]),
    ("mypy", &[
        Harmless("-v --strict --ignore-missing-imports --no-error-summary --show-error-codes --hide-error-codes --pretty \
            --no-pretty --no-color-output --show-error-context --show-column-numbers --no-incremental --no-implicit-optional \
            --disallow-untyped-defs --disallow-incomplete-defs --disallow-any-generics --check-untyped-defs --warn-return-any \
            --warn-unused-ignores --warn-redundant-casts --warn-unreachable --no-implicit-reexport --strict-equality \
            --namespace-packages --explicit-package-bases --no-site-packages --non-interactive --verbose"),
        HarmlessValue("-m -p --python-version --platform --follow-imports --exclude --disable-error-code --enable-error-code"),
    ]),
    ("pylint", &[
        Harmless("-E -v --errors-only --list-msgs --list-msgs-enabled --list-groups --list-conf-levels --exit-zero --verbose"),
        HarmlessValue("-d -e -j -s -r --disable --enable --jobs --score --reports --help-msg --fail-under --fail-on \
            --recursive --max-line-length --ignore --ignore-patterns --ignore-paths --good-names --min-similarity-lines \
            --confidence"),
    ]),
    ("flake8", &[
        Harmless("-q -v --statistics --count --show-source --no-show-source --exit-zero --quiet --verbose --disable-noqa --doctests"),
        HarmlessValue("-j --jobs --max-line-length --max-doc-length --select --ignore --extend-ignore --extend-select --exclude \
            --extend-exclude --filename --max-complexity --per-file-ignores --color --indent-size"),
    ]),

    // JavaScript.
    ("eslint", &[
        Harmless("--quiet --no-warn-ignored --no-color --color --no-error-on-unmatched-pattern --report-unused-disable-directives \
            --no-inline-config --debug --no-ignore --pass-on-no-patterns"),
        HarmlessValue("--max-warnings --ext --ignore-pattern"),
    ]),
    ("prettier", &[
        Harmless("-c -l -u --check --list-different --single-quote --no-semi --use-tabs --ignore-unknown --no-config --no-editorconfig \
            --no-color --color --jsx-single-quote --no-bracket-spacing --bracket-same-line --with-node-modules"),
        HarmlessValue("--tab-width --print-width --trailing-comma --prose-wrap --end-of-line --log-level --arrow-parens \
            --quote-props"),
    ]),
    ("tsc", &[
        Flag("-p --project -b --build --outDir --outFile",      "works in another folder, or writes files elsewhere"),
        Harmless("-w -v --noEmit --watch --strict --listFiles --pretty --skipLibCheck --esModuleInterop --noImplicitAny \
            --strictNullChecks --allowJs --checkJs --noUnusedLocals --noUnusedParameters --resolveJsonModule --isolatedModules \
            --diagnostics --extendedDiagnostics --explainFiles --all --showConfig --preserveWatchOutput --noErrorTruncation"),
        HarmlessValue("-t -m --target --module --lib --jsx --moduleResolution"),
    ]),
    ("jest, vitest, mocha, ava", &[
        Flag("-c --config --rootDir --globalSetup --setupFilesAfterEnv --testRunner --reporters --reporter --require -r", "loads code"),
        Harmless("-i -b --watch --watchAll --coverage --ci --verbose --silent --bail --runInBand --passWithNoTests --onlyChanged \
            --listTests --no-cache --no-coverage --no-watch --detectOpenHandles --forceExit --expand --run --globals --exit \
            --parallel --colors --color --no-color --findRelatedTests --invert --allow-only --no-threads --fail-zero"),
        HarmlessValue("-t -g --testNamePattern --testPathPattern --testPathPatterns --maxWorkers --selectProjects --changedSince \
            --grep --fgrep --timeout --retries --testTimeout --shard"),
    ]),
    ("webpack, rollup, vite, esbuild, stylelint", &[
        Harmless("--watch --silent --quiet --bundle --minify --sourcemap --bail --debug --clearScreen --strictPort"),
        HarmlessValue("--mode --port --logLevel --log-level --target --platform --max-warnings"),
    ]),

    // Others.
    ("prove", &[
        Harmless("-v -q -r -f -o -w -W -T -t -l -b -p -D --verbose --quiet --QUIET --recurse --failures --comments --directives --shuffle \
            --color --nocolor --merge --timer --dry --parse --trap --nocount --count --lib --blib"),
        HarmlessValue("-j --jobs"),
    ]),
    ("rake", &[Harmless("-T -P -D -n -q -s -t --dry-run --quiet --silent --trace --prereqs --tasks --all -A")]),
    ("rubocop", &[
        Harmless("-l -x -D -L -P --lint --display-cop-names --extra-details --list-target-files --parallel --no-parallel --color \
            --no-color --debug --display-time --no-server --force-exclusion"),
        HarmlessValue("--only --except --fail-level --display-only-fail-level-offenses"),
    ]),
    ("rspec", &[
        Harmless("-b -w --backtrace --fail-fast --no-fail-fast --next-failure --only-failures --color --no-color --dry-run --profile \
            --warnings --no-profile"),
        HarmlessValue("-e -t -P --example --tag --seed --order"),
        Takes(NoResponseFile),
    ]),
    ("rails", &[
        Word("runner r console c dbconsole db new n plugin generate g destroy d server s app:template test:prepare", "runs code, or starts another program"),
        Harmless("-v --verbose --trace --tasks"),
    ]),
    ("phpunit, phpstan, psalm", &[
        Harmless("-v -q -n --stop-on-failure --stop-on-error --testdox --colors --no-coverage --verbose --quiet --list-tests \
            --list-suites --list-groups --no-progress --no-configuration --debug --ansi --no-ansi --no-interaction --show-info"),
        HarmlessValue("-l --level --filter --testsuite --group --exclude-group --memory-limit"),
    ]),
    ("mix", &[
        Word("run eval rpc cmd do archive.install escript.install local.hex local.rebar phx.new release", "runs code, or starts another program"),
        Harmless("--trace --failed --stale --cover --warnings-as-errors --force --color --no-color --check-formatted --dry-run \
            --all --no-compile --no-deps-check --strict"),
        HarmlessValue("--only --exclude --include --seed --max-failures --timeout --slowest"),
    ]),
    ("pdflatex, xelatex, lualatex, latex, tex, pdftex, luatex, xetex", &[
        HarmlessWord("-halt-on-error -file-line-error -draftmode -no-shell-escape -version"),
        HarmlessWordValue("-interaction -synctex"),
    ]),
    ("latexmk", &[
        HarmlessWord("-pdf -pdfxe -pdflua -xelatex -lualatex -dvi -c -C -f -g -silent -quiet -halt-on-error -bibtex -norc -time -gg"),
        HarmlessWordValue("-interaction"),
    ]),
    ("groff, troff, nroff, pic, tbl, eqn", &[
        Flag("-U -I -M -F -P -L -X",                            "runs what the text names, or starts another program"),
        Harmless("-z -a -t -e -k -C -b -i -R -s -S"),
        HarmlessValue("-T -m -K -w"),
    ]),
    ("dot, neato, circo, fdp, sfdp, twopi", &[
        HarmlessBeginning("-T -G -N -E"),
        HarmlessWord("-v -q -V"),
    ]),
];

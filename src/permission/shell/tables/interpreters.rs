//! Interpreters: the options before a script that are harmless. What follows the script belongs to it.

use super::options::Entry;
use super::options::Operands::NoResponseFile;
use super::options::Rule::{
    Beginning, Flag, Harmless, HarmlessBeginning, HarmlessValue, HarmlessWord, ScriptFollows,
    Subcommands, Takes, Word,
};

#[rustfmt::skip]
pub(super) const PROGRAMS: &[Entry] = &[
    ("perl", &[ScriptFollows, Harmless("-v -w -W -t -T -h --version --help")]),
    ("ruby", &[ScriptFollows, Harmless("-v -w -h --version --help --verbose")]),
    ("python, pypy", &[
        ScriptFollows,
        Harmless("-V -u -B -O -E -s -S -I -v -q -b -h -P -x -d -R --version --help"),
    ]),
    ("php", &[ScriptFollows, Harmless("-v -i -m -h -l --version --help")]),
    ("lua, luajit", &[ScriptFollows, Harmless("-v")]),
    ("node, nodejs", &[
        ScriptFollows,
        Flag("-e --eval --print -i",                            "runs code"),
        Flag("-r --require --import --loader --experimental-loader", "loads code"),
        Flag("--run",                                           "runs a command of the package"),
        Flag("--test-reporter --test-global-setup",             "loads code"),
        Flag("-C --env-file --experimental-config-file --openssl-config", "sets what is loaded"),
        Flag("--inspect",                                       "takes commands from the network"),
        Flag("--build-snapshot --cpu-prof-dir --diagnostic-dir --redirect-warnings", "writes files"),
        Flag("--report-dir --trace-event-file-pattern",         "writes files"),
        Harmless("-v -h -c --version --help --check --test --test-only --watch --no-warnings --trace-warnings --trace-uncaught \
            --trace-deprecation --no-deprecation --throw-deprecation --enable-source-maps --expose-gc --harmony \
            --preserve-symlinks --experimental-vm-modules --experimental-strip-types --experimental-test-coverage \
            --stack-trace-limit --max-old-space-size --max-semi-space-size --unhandled-rejections --test-name-pattern \
            --test-concurrency --test-timeout"),
    ]),
    ("Rscript, julia, guile, raku, escript, elixir, groovy, tsx, ts-node, swipl, racket, babashka, bb, janet, nu", &[
        ScriptFollows,
        Harmless("--vanilla --quiet --no-environ --no-restore --no-save --version"),
    ]),
    ("java", &[
        ScriptFollows,
        Beginning("-javaagent -agentlib -agentpath -XX:On",     "loads code or runs a command"),
        Beginning("-cp -classpath",                             "loads code from elsewhere"),
        HarmlessWord("-version --version -showversion --show-version -ea -da -esa -dsa -enableassertions -server -client -help --help"),
        HarmlessBeginning("-Xmx -Xms -Xss"),
        Takes(NoResponseFile),
    ]),
    ("javac, kotlinc, scalac", &[
        HarmlessWord("-g -nowarn -deprecation -verbose -Werror -version --version"),
        HarmlessBeginning("-Xlint"),
    ]),
    ("deno", &[
        Harmless("-q --quiet --check --no-check --unstable --version"),
        Subcommands("fmt lint check test info types doc help cache bench"),
    ]),
    ("swift, zig, crystal, nim, dart, flutter, ghc, stack, cabal", &[
        Word("run global plugin config activate deactivate",    "runs another program, or changes which ones run"),
        Harmless("-v -q --verbose --quiet --release"),
        HarmlessValue("-c --configuration"),
        Subcommands("build test check fmt format analyze clean doctor version help package pub"),
    ]),
];

//! The lists of `tables/programs.txt`, which explains each of them.

use std::sync::LazyLock;

use super::lists::{Pair, flat, pairs, section};

const TEXT: &str = include_str!("../../tables/programs.txt");

pub(crate) const SHELLS: &str = section(TEXT, "shells");
pub(crate) const SOURCES: &str = section(TEXT, "sources");
pub(crate) static WRAPPERS: LazyLock<Vec<&str>> =
    LazyLock::new(|| flat(const { section(TEXT, "wrappers") }));
pub(crate) const EVALUATORS: &str = section(TEXT, "evaluators");
pub(crate) const CHANGE_THE_SHELL: &str = section(TEXT, "change-the-shell");
pub(crate) static RUNNERS: LazyLock<Vec<Pair>> =
    LazyLock::new(|| pairs(const { section(TEXT, "runners") }));
pub(crate) static CONFIGURES: LazyLock<Vec<Pair>> =
    LazyLock::new(|| pairs(const { section(TEXT, "configures") }));
pub(crate) const SHOWS: &str = section(TEXT, "shows");
pub(crate) const RUN_ELSEWHERE: &str = section(TEXT, "run-elsewhere");
pub(crate) static COMMAND_OPTIONS: LazyLock<Vec<Pair>> =
    LazyLock::new(|| pairs(const { section(TEXT, "command-options") }));
pub(crate) static INTERPRETERS: LazyLock<Vec<Pair>> =
    LazyLock::new(|| pairs(const { section(TEXT, "interpreters") }));
pub(crate) const TAKE_COMMANDS: &str = section(TEXT, "take-commands");
pub(crate) const RUN_THEIR_INPUT: &str = section(TEXT, "run-their-input");
pub(crate) const DATABASE_CLIENTS: &str = section(TEXT, "database-clients");
pub(crate) const AWKS: &str = section(TEXT, "awks");
pub(crate) static SPAWNS: LazyLock<Vec<&str>> =
    LazyLock::new(|| flat(const { section(TEXT, "spawns") }));
pub(crate) const COMMAND_VARIABLES: &str = section(TEXT, "command-variables");
pub(crate) const PROMPTS: &str = section(TEXT, "prompts");
pub(crate) const OPTION_VARIABLES: &str = section(TEXT, "option-variables");
pub(crate) const CONFIGURING_VARIABLES: &str = section(TEXT, "configuring-variables");
pub(crate) static SHELL_ESCAPES: LazyLock<Vec<Pair>> =
    LazyLock::new(|| pairs(const { section(TEXT, "shell-escapes") }));
pub(crate) const ABOUT_TEXT: &str = section(TEXT, "about-text");
pub(crate) const TAKE_NO_FILES: &str = section(TEXT, "take-no-files");
pub(crate) const WRITERS: &str = section(TEXT, "writers");
pub(crate) static FILTERS: LazyLock<Vec<&str>> =
    LazyLock::new(|| flat(const { section(TEXT, "filters") }));
pub(crate) const RUNS_OR_CONFIGURES: &str = section(TEXT, "runs-or-configures");
pub(crate) const ORDINARY_PROGRAMS: &str = section(TEXT, "ordinary-programs");
pub(crate) const ADDRESS_SCHEMES: &str = section(TEXT, "address-schemes");
pub(crate) const ARCHIVES: &str = section(TEXT, "archives");
pub(crate) const CARGO_OWN: &str = section(TEXT, "cargo-own");

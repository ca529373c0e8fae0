//! The lists of `tables/elsewhere.txt`, which explains each of them.

use super::lists::section;

const TEXT: &str = include_str!("../../tables/elsewhere.txt");

pub(crate) const GIT_LOCAL: &str = section(TEXT, "git-local");
pub(crate) const GIT_SENDS: &str = section(TEXT, "git-sends");
pub(crate) const GIT_OTHER: &str = section(TEXT, "git-other");
pub(crate) const GIT_VALUED: &str = section(TEXT, "git-valued");
pub(crate) const GIT_BEFORE_HARMLESS: &str = section(TEXT, "git-before-harmless");
pub(crate) const GIT_PLAIN: &str = section(TEXT, "git-plain");
pub(crate) const GIT_RUNS_OTHERS: &str = section(TEXT, "git-runs-others");
pub(crate) const GIT_REMOTES: &str = section(TEXT, "git-remotes");
pub(crate) const GIT_CONFIG_READS: &str = section(TEXT, "git-config-reads");
pub(crate) const GIT_CONFIG_OPTIONS: &str = section(TEXT, "git-config-options");
pub(crate) const GIT_CONFIG_VERBS: &str = section(TEXT, "git-config-verbs");
pub(crate) const GIT_TAKES_COMMANDS: &str = section(TEXT, "git-takes-commands");
pub(crate) const FORGE_READS: &str = section(TEXT, "forge-reads");
pub(crate) const FORGE_NOUNS: &str = section(TEXT, "forge-nouns");
pub(crate) const FORGE_PLAIN: &str = section(TEXT, "forge-plain");
pub(crate) const DOCTL_NOUNS: &str = section(TEXT, "doctl-nouns");
pub(crate) const DOCTL_READS: &str = section(TEXT, "doctl-reads");
pub(crate) const DOCTL_WRITES: &str = section(TEXT, "doctl-writes");
pub(crate) const DOCTL_VALUED: &str = section(TEXT, "doctl-valued");
pub(crate) const API_ADDRESSES: &str = section(TEXT, "api-addresses");
pub(crate) const HTTP_SENDS: &str = section(TEXT, "http-sends");

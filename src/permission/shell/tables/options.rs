//! How the tables say which options and operands of a program are harmless, and the short lists that hold for many programs.
//!
//! A line is one fact about one or several programs: how they read the options, and the options. `git clone` is what `git`
//! adds for that subcommand, `git *` what it adds for any subcommand without an entry of its own. What a program's entry
//! does not name must be spelled by a pattern; so must all that a program without an entry takes, except its plain operands
//! and [`HARMLESS_ANYWHERE`].

use super::git_options::OF_GIT;
use super::{building, databases, files, interpreters, network, packages, system, text};
use Rule::{
    Beginning, Flag, Harmless, HarmlessBeginning, HarmlessValue, HarmlessWord, HarmlessWordValue,
    ScriptFollows, SpelledFrom, Subcommands, Takes, Word,
};

/// An entry: programs, or programs with a subcommand, and what is known of them.
pub(in crate::permission::shell) type Entry = (&'static str, &'static [Rule]);

/// One fact about a program.
#[derive(Clone, Copy, Debug)]
pub(in crate::permission::shell) enum Rule {
    /// Options that must be spelled, and what they do; they go before all that is harmless. Read as getopt does: `-o` alone
    /// or in a cluster of letters, `--output`, and any beginning of it where nothing else is listed.
    Flag(&'static str, &'static str),
    /// Whole words that must be spelled, alone or with `=` and a value, and what they do.
    Word(&'static str, &'static str),
    /// Any word that begins so must be spelled, and why.
    Beginning(&'static str, &'static str),
    /// Harmless options without a value, or with one behind `=`.
    Harmless(&'static str),
    /// Harmless options whose value is attached or in the next word.
    HarmlessValue(&'static str),
    /// Harmless words that begin with one dash: `-name`.
    HarmlessWord(&'static str),
    /// The same, with one dash or two, whose value is behind `=` or in the next word.
    HarmlessWordValue(&'static str),
    /// Every option that begins so is harmless.
    HarmlessBeginning(&'static str),
    /// Which operands are harmless; [`Operands::Plain`] where nothing is said.
    Takes(Operands),
    /// The operand of this number, counted from 0, and those behind it must be spelled: the program writes them.
    SpelledFrom(usize),
    /// The only subcommands that need not be spelled.
    Subcommands(&'static str),
    /// Everything after the first operand belongs to a script, not to the program.
    ScriptFollows,
}

/// The operands of a program that need not be spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::permission::shell) enum Operands {
    /// Whatever they are.
    Any,
    /// Whatever does not begin with `@`, which names a file of options.
    NoResponseFile,
    /// Names, paths and numbers: no `=`, `@`, `:`, no blank, no sign of code, no `+` in front.
    Plain,
    /// Plain ones without a slash.
    Names,
    /// Names of packages, with their version.
    Packages,
    /// None.
    Spelled,
}

/// Options that do the same in all programs that have them.
pub(in crate::permission::shell) const HARMLESS_ANYWHERE: &str = "\
    -v -q -h --help --version --verbose --quiet --color --no-color --color=always --color=auto --color=never";

/// Programs that have no option that writes somewhere or starts a program, except those that an entry names.
pub(in crate::permission::shell) const HARMLESS: &str = "\
    [ arch b2sum base32 base64 basename cal cat cd chmod chown cksum cmp col column comm cp cut df diff dircolors dirname \
    du echo egrep expand expr eza exa factor false fgrep findmnt fmt fold free getconf grep groups head hexdump hostid id \
    join kill last link ln locale logname ls lsblk lscpu lsmem lsmod lsusb md5sum mkdir mktemp mountpoint mv ncal netstat \
    nl nproc numfmt od paste pathchk pgrep pidof pr printenv ps pstree pwd readlink realpath rev rm rmdir seq sha1sum \
    sha224sum sha256sum sha384sum sha512sum sleep stat strings sum sync tac tail tee test touch tput tr true truncate tsort \
    tty type uname unexpand unlink uptime users vmstat w wc whereis which who whoami";

/// Every known program but git, whose entries are [`OF_GIT`].
pub(in crate::permission::shell) const PROGRAMS: &[&[Entry]] = &[
    files::PROGRAMS,
    text::PROGRAMS,
    system::PROGRAMS,
    packages::PROGRAMS,
    building::PROGRAMS,
    interpreters::PROGRAMS,
    network::PROGRAMS,
    databases::PROGRAMS,
];

// A line that names no risk, or an option that is neither like `-o` nor like `--output`, does not compile.
const _: () = {
    let mut at = 0;
    while at < PROGRAMS.len() {
        assert!(all_are_well_formed(PROGRAMS[at]));
        at += 1;
    }
    assert!(all_are_well_formed(OF_GIT));
};

const fn all_are_well_formed(entries: &[Entry]) -> bool {
    let mut at = 0;
    while at < entries.len() {
        if !are_well_formed(entries[at].1) {
            return false;
        }
        at += 1;
    }
    true
}

const fn are_well_formed(lines: &[Rule]) -> bool {
    let mut at = 0;
    while at < lines.len() {
        let is_well_formed = match lines[at] {
            Flag(options, risk) => are_flags(options.as_bytes()) && !risk.is_empty(),
            Word(words, risk) | Beginning(words, risk) => !words.is_empty() && !risk.is_empty(),
            Harmless(options) | HarmlessValue(options) => are_flags(options.as_bytes()),
            HarmlessWord(words) | HarmlessWordValue(words) | HarmlessBeginning(words) => {
                are_options(words.as_bytes())
            }
            Subcommands(words) => !words.is_empty(),
            Takes(_) | SpelledFrom(_) | ScriptFollows => true,
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

/// Whether each of `words` begins with a dash.
const fn are_options(words: &[u8]) -> bool {
    let mut at = 0;
    while at < words.len() {
        let start = at;
        while at < words.len() && words[at] != b' ' {
            at += 1;
        }
        if at > start && words[start] != b'-' {
            return false;
        }
        at += 1;
    }
    !words.is_empty()
}

//! The options and operands of a program that a wildcard covers.
//!
//! A program without an entry in the tables is *unknown*: a wildcard covers its plain operands and a handful of options
//! that mean the same everywhere. For a *listed* program it covers the words that its entry names. Everything else must
//! be spelled.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::plain;
use super::tables::has;
use super::tables::options::{HARMLESS, HARMLESS_ANYWHERE, Operands, Rule, TABLES, entries};
use super::tables::programs::{ADDRESS_SCHEMES, ARCHIVES, ORDINARY_PROGRAMS, RUNS_OR_CONFIGURES};

/// The tables by program, then by subcommand; an empty subcommand is for all of them.
static KNOWN: LazyLock<HashMap<&str, HashMap<&str, Rules>>> = LazyLock::new(|| {
    let mut known: HashMap<&str, HashMap<&str, Rules>> = HashMap::new();
    for entry in TABLES.iter().flat_map(|(_, table)| entries(table)) {
        for name in entry.names {
            let (program, subcommand) = name.split_once(' ').unwrap_or((name, ""));
            let known = known.entry(program).or_default();
            known.entry(subcommand).or_default().add(&entry.rules);
        }
    }
    known
});

/// The arguments of a program that a wildcard covers: by its own entry and that of its subcommand.
#[derive(Clone, Copy)]
pub(super) struct Options {
    kind: Kind,
    own: Option<&'static Rules>,
    of_subcommand: Option<&'static Rules>,
}

/// How much is known about a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// None of its options writes or starts anything, except those that its entry names.
    Harmless,
    /// Its entry names the harmless options.
    Listed,
    Unknown,
}

/// The effect of a wildcard on an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Covered {
    Yes,
    /// The option, and the next word as its value.
    WithNext,
    No,
}

/// The part of an operand that a pattern must spell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    Nothing,
    /// The first bytes: a name with `=`, a prefix with `:`, the part up to `@`.
    Beginning(usize),
    Whole,
}

impl Options {
    /// Returns the options of `program`, which may carry its version (`python3.12`), called with `subcommand`.
    pub(super) fn of(program: &str, subcommand: &str) -> Self {
        let known = |program: &str, subcommand: &str| KNOWN.get(program)?.get(subcommand);
        let bare = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let own = known(program, "").or_else(|| known(bare, ""));
        let of_subcommand = known(bare, subcommand)
            .filter(|_| !subcommand.is_empty())
            .or_else(|| known(bare, "*"));
        let kind = if is_harmless(bare) || is_harmless(program) {
            Kind::Harmless
        } else if own.is_some() || of_subcommand.is_some() {
            Kind::Listed
        } else {
            Kind::Unknown
        };
        Self {
            kind,
            own,
            of_subcommand,
        }
    }

    fn each(self) -> impl Iterator<Item = &'static Rules> {
        self.own.into_iter().chain(self.of_subcommand)
    }

    pub(super) fn are_unknown(self) -> bool {
        self.kind == Kind::Unknown
    }

    /// Returns how a wildcard covers `option`, a word that begins with a dash.
    pub(super) fn cover(self, option: &str) -> Covered {
        let (name, has_value) = match option.split_once('=') {
            Some((name, _)) => (name, true),
            None => (option, false),
        };
        if self
            .each()
            .any(|rules| rules.is_unreadable || rules.names(option, name))
        {
            return Covered::No;
        }
        if self.kind == Kind::Harmless {
            let begins_a_risky_one = self.each().any(|rules| rules.may_abbreviate(name));
            return if begins_a_risky_one {
                Covered::No
            } else {
                Covered::Yes
            };
        }
        let valued = if has_value {
            Covered::Yes
        } else {
            Covered::WithNext
        };
        if self.each().any(|rules| rules.has_word(option)) {
            return Covered::Yes;
        }
        if self.each().any(|rules| rules.has_valued_word(name)) {
            return valued;
        }
        if option.starts_with("--") {
            let has = |of: fn(&Rules) -> &Harmless| {
                self.each().any(|rules| of(rules).long.contains(&name))
            };
            if has(|rules| &rules.valued) {
                return valued;
            }
            if has(|rules| &rules.harmless) || matches!(option, "--help" | "--version") {
                return Covered::Yes;
            }
        } else if self.kind == Kind::Listed {
            return self.cover_letters(option.get(1..).unwrap_or_default());
        }
        if self.kind == Kind::Unknown && has(HARMLESS_ANYWHERE, option) {
            Covered::Yes
        } else {
            Covered::No
        }
    }

    /// Returns how a wildcard covers a cluster of letters; the last one may take the next word.
    fn cover_letters(self, cluster: &str) -> Covered {
        for (at, letter) in cluster.char_indices() {
            if self
                .each()
                .any(|rules| rules.valued.letters.contains(letter))
            {
                let is_last = at + letter.len_utf8() == cluster.len();
                return if is_last {
                    Covered::WithNext
                } else {
                    Covered::Yes
                };
            }
            let is_harmless = letter.is_ascii_digit()
                || self
                    .each()
                    .any(|rules| rules.harmless.letters.contains(letter));
            if !is_harmless {
                return Covered::No;
            }
        }
        Covered::Yes
    }

    /// Returns whether a wildcard covers each of `letters`, written without their dash as `tar` takes them.
    pub(super) fn cover_first_word(self, letters: &str) -> bool {
        letters.chars().all(|letter| {
            self.each().any(|rules| {
                !rules.is_unreadable
                    && !rules.letters.contains(letter)
                    && (rules.harmless.letters.contains(letter)
                        || rules.valued.letters.contains(letter))
            })
        })
    }

    /// Returns the part of `operand` that a pattern must spell, regardless of its position.
    pub(super) fn spelling(self, operand: &str) -> Spelling {
        if self.each().any(|rules| rules.is_unreadable) {
            return Spelling::Whole;
        }
        let (name, _) = operand.split_once('=').unwrap_or((operand, ""));
        if self.each().any(|rules| rules.names_operand(operand, name)) {
            return Spelling::Beginning(name.len());
        }
        let mut said = self.each().filter_map(|rules| rules.operands);
        let operands = match (self.kind, said.next()) {
            (_, Some(operands)) => operands,
            (Kind::Harmless, None) => Operands::Any,
            (Kind::Listed, None) => Operands::Plain,
            (Kind::Unknown, None) if is_run_by_some(operand) || may_be_script(operand) => {
                return Spelling::Whole;
            }
            (Kind::Unknown, None) => Operands::Plain,
        };
        match operands {
            Operands::Any => Spelling::Nothing,
            Operands::NoResponseFile if operand.starts_with('@') => Spelling::Beginning(1),
            Operands::NoResponseFile => Spelling::Nothing,
            Operands::Plain => plainness(operand),
            Operands::Names if operand.contains('/') || is_archive(operand) => Spelling::Whole,
            Operands::Names => plainness(operand),
            Operands::Packages if is_package(operand) => Spelling::Nothing,
            Operands::Packages => Spelling::Whole,
            Operands::Spelled => Spelling::Whole,
        }
    }

    /// Returns whether the program has only the listed subcommands, and `word` is none of them.
    pub(super) fn lack_subcommand(self, word: &str) -> bool {
        let mut lists = self.each().filter(|rules| !rules.subcommands.is_empty());
        lists.any(|rules| !rules.subcommands.contains(&word))
    }

    /// Returns whether the program writes the operand with this number, counted from 0.
    pub(super) fn write_operand(self, number: usize) -> bool {
        let mut first = self.each().filter_map(|rules| rules.spelled_from);
        first.any(|first| number >= first)
    }

    /// Returns whether everything after the first operand belongs to a script and not to the program.
    pub(super) fn end_at_operand(self) -> bool {
        self.each().any(|rules| rules.script_follows)
    }
}

/// Returns whether it has no option that writes or starts anything, except those that its entry names.
pub(super) fn is_harmless(program: &str) -> bool {
    has(HARMLESS, program)
}

/// Returns whether some programs run the thing that this word names, or change their settings by it.
fn is_run_by_some(operand: &str) -> bool {
    let name = plain::name(operand);
    // Many programs accept any beginning of a subcommand: `ru`, `exe`.
    let begins_one = operand.len() > 1
        && RUNS_OR_CONFIGURES
            .split_whitespace()
            .any(|word| word.starts_with(operand));
    begins_one || has(RUNS_OR_CONFIGURES, operand) || has(ORDINARY_PROGRAMS, name)
}

/// Checks whether a program may take `operand` for a script such as `s,a,b,e`, which has two or more of the same separator.
fn may_be_script(operand: &str) -> bool {
    [',', '^', '%', '~', '|']
        .into_iter()
        .any(|separator| operand.matches(separator).count() >= 2)
}

/// Returns the part of an operand that is not a plain word: a pattern must spell it up to there.
///
/// A plain word is a name, a path or a number. `key=value`, `prefix:value` and `user@host` are plain after their sign.
/// A word that begins with `+` or a dash, or contains signs of code or a blank, is not plain at all.
fn plainness(operand: &str) -> Spelling {
    let is_of_code =
        |c: char| c.is_control() || c.is_whitespace() || "(){}[]<>|&;$`\"'\\!*?#".contains(c);
    if operand.starts_with(['+', '-']) || operand.contains(is_of_code) {
        return Spelling::Whole;
    }
    match operand.rfind(['=', '@', ':']) {
        Some(at) => Spelling::Beginning(at + 1),
        None => Spelling::Nothing,
    }
}

/// Returns whether it is the name of a package, with its scope, extras and version (`x`, `@a/x`, `x@1.2`, `x[y]==1.2`),
/// or of a script (`test:unit`).
fn is_package(operand: &str) -> bool {
    let is_version = |version: &str| {
        let is_of_version =
            |byte: u8| byte.is_ascii_alphanumeric() || b"._-+^~<>=!,*".contains(&byte);
        !version.is_empty() && version.bytes().all(is_of_version)
    };
    if operand == "." || is_script_name(operand) {
        return true;
    }
    let rest = match operand.strip_prefix('@').map(|rest| rest.split_once('/')) {
        Some(Some((scope, rest))) if is_package_name(scope) => rest,
        Some(_) => return false,
        None => operand,
    };
    let (rest, version) = match rest.find(['@', '=', '<', '>', '~', '!']) {
        Some(at) => (&rest[..at], rest.get(at + 1..)),
        None => (rest, None),
    };
    let name = match rest.split_once('[') {
        Some((name, extras)) => {
            let extras = extras.strip_suffix(']').unwrap_or_default();
            if !extras.split(',').all(is_package_name) {
                return false;
            }
            name
        }
        None => rest,
    };
    is_package_name(name) && version.is_none_or(is_version) && !is_archive(operand)
}

fn is_package_name(name: &str) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+".contains(&byte);
    !name.starts_with(['+', '-', '.']) && !name.is_empty() && name.bytes().all(is_of_name)
}

/// Returns whether it is a name with colons that is not an address: `file:x` and `exec:x` take a package from a folder
/// or a program.
fn is_script_name(operand: &str) -> bool {
    let mut parts = operand.split(':');
    parts
        .next()
        .is_some_and(|first| is_package_name(first) && !has(ADDRESS_SCHEMES, first))
        && parts.clone().count() > 0
        && parts.all(is_package_name)
}

/// Returns whether package managers take it for a file to install.
fn is_archive(operand: &str) -> bool {
    let operand = operand.to_ascii_lowercase();
    ARCHIVES
        .split_whitespace()
        .any(|ending| operand.ends_with(ending))
}

/// The entries of a program or a subcommand, in a form for looking up options.
#[derive(Clone, Debug, Default)]
struct Rules {
    letters: String,
    long: Vec<&'static str>,
    words: Vec<&'static str>,
    beginnings: Vec<&'static str>,
    harmless: Harmless,
    valued: Harmless,
    harmless_words: Vec<&'static str>,
    valued_words: Vec<&'static str>,
    harmless_beginnings: Vec<&'static str>,
    operands: Option<Operands>,
    spelled_from: Option<usize>,
    subcommands: Vec<&'static str>,
    script_follows: bool,
    /// A line could not be read: no part of the program is covered.
    is_unreadable: bool,
}

/// Harmless options, by their form.
#[derive(Clone, Debug, Default)]
struct Harmless {
    letters: String,
    long: Vec<&'static str>,
}

impl Rules {
    fn add(&mut self, lines: &[Rule]) {
        for line in lines {
            match line {
                Rule::Flag(options) => by_form(options, &mut self.letters, &mut self.long),
                Rule::Word(words) => self.words.extend(words.split_whitespace()),
                Rule::Beginning(words) => self.beginnings.extend(words.split_whitespace()),
                Rule::Harmless(options) => self.harmless.add(options),
                Rule::HarmlessValue(options) => self.valued.add(options),
                Rule::HarmlessWord(words) => self.harmless_words.extend(words.split_whitespace()),
                Rule::HarmlessWordValue(words) => {
                    self.valued_words.extend(words.split_whitespace());
                }
                Rule::HarmlessBeginning(words) => {
                    self.harmless_beginnings.extend(words.split_whitespace());
                }
                Rule::Takes(operands) => self.operands = Some(*operands),
                Rule::SpelledFrom(at) => self.spelled_from = Some(*at),
                Rule::Subcommands(words) => self.subcommands.extend(words.split_whitespace()),
                Rule::ScriptFollows => self.script_follows = true,
                Rule::Unreadable(_) => self.is_unreadable = true,
            }
        }
    }

    /// Returns whether the entry names `option` as one that must be spelled.
    fn names(&self, option: &str, name: &str) -> bool {
        if self.names_operand(option, name) || self.long.contains(&name) {
            return true;
        }
        let is_covered_word = self.has_word(option) || self.has_valued_word(name);
        !option.starts_with("--")
            && !is_covered_word
            && option
                .chars()
                .skip(1)
                .any(|letter| self.letters.contains(letter))
            && !self.is_value_of_a_letter(option)
    }

    /// Returns whether the risky letters of a cluster come after a harmless one that takes the rest as its value.
    fn is_value_of_a_letter(&self, option: &str) -> bool {
        let mut letters = option.chars().skip(1);
        let first = letters
            .find(|letter| self.letters.contains(*letter) || self.valued.letters.contains(*letter));
        first.is_some_and(|letter| !self.letters.contains(letter))
    }

    fn names_operand(&self, word: &str, name: &str) -> bool {
        let is_word = |known: &&str| word == *known || name == *known;
        self.words.iter().any(is_word)
            || self.beginnings.iter().any(|known| word.starts_with(known))
    }

    /// Returns whether `name` may stand for a longer one that must be spelled: many programs accept any beginning.
    fn may_abbreviate(&self, name: &str) -> bool {
        name.len() > 2
            && name.starts_with("--")
            && self.long.iter().any(|long| long.starts_with(name))
    }

    fn has_word(&self, option: &str) -> bool {
        let begins = |known: &&str| option.starts_with(known);
        self.harmless_words.contains(&option) || self.harmless_beginnings.iter().any(begins)
    }

    /// Returns whether the word takes a value; some programs treat two dashes as one.
    fn has_valued_word(&self, name: &str) -> bool {
        let single = name.strip_prefix('-').filter(|rest| rest.starts_with('-'));
        self.valued_words.contains(&name)
            || single.is_some_and(|name| self.valued_words.contains(&name))
    }
}

impl Harmless {
    fn add(&mut self, options: &'static str) {
        by_form(options, &mut self.letters, &mut self.long);
    }
}

/// Adds `options` to the letters (`-o`) and the long options (`--output`).
fn by_form(options: &'static str, letters: &mut String, long: &mut Vec<&'static str>) {
    for option in options.split_whitespace() {
        if option.starts_with("--") {
            long.push(option)
        } else {
            letters.push_str(option.trim_start_matches('-'))
        }
    }
}

//! Which options of a program a pattern must spell, because they write or start something.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::tables::git_options::OF_GIT;
use super::tables::has;
use super::tables::options::{HARMLESS, PROGRAMS, Risky, UNKNOWN};
use super::word::Word;

/// The table by program, then by subcommand; an empty subcommand is for all of them.
static KNOWN: LazyLock<HashMap<&str, HashMap<&str, Risks>>> = LazyLock::new(|| {
    let mut known: HashMap<&str, HashMap<&str, Risks>> = HashMap::new();
    for (names, risks) in PROGRAMS.iter().chain(OF_GIT) {
        for name in names.split(", ") {
            let (program, subcommand) = name.split_once(' ').unwrap_or((name, ""));
            let entries = known.entry(program).or_default();
            entries.insert(subcommand, Risks::of_table(risks));
        }
    }
    known
});

static OF_UNKNOWN: LazyLock<Risks> = LazyLock::new(|| Risks::of_table(UNKNOWN));

/// The risky options of a program: its own and those of its subcommand.
#[derive(Clone, Copy)]
pub(super) struct Options {
    own: Option<&'static Risks>,
    of_subcommand: Option<&'static Risks>,
}

impl Options {
    /// The options of `program`, which may carry its version (`python3.12`), called with `subcommand`.
    pub(super) fn of(program: &str, subcommand: &str) -> Self {
        let known = |program: &str, subcommand: &str| KNOWN.get(program)?.get(subcommand);
        let bare = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let own = known(program, "").or_else(|| known(bare, ""));
        let of_subcommand = known(bare, subcommand)
            .filter(|_| !subcommand.is_empty())
            .or_else(|| known(bare, "*"));
        let is_known =
            own.is_some() || of_subcommand.is_some() || is_harmless(bare) || is_harmless(program);
        Self {
            own: own.or_else(|| (!is_known).then_some(&*OF_UNKNOWN)),
            of_subcommand,
        }
    }

    fn each(self) -> impl Iterator<Item = &'static Risks> {
        self.own.into_iter().chain(self.of_subcommand)
    }

    /// Whether a pattern must spell `word`.
    pub(super) fn are_risky(self, word: &Word) -> bool {
        self.each().any(|risks| risks.hold(word))
    }

    /// Whether one of `letters` is a risky option, written without its dash as `tar` takes them.
    pub(super) fn are_risky_letters(self, letters: &str) -> bool {
        self.each().any(|risks| risks.hold_letters(letters))
    }

    /// Whether everything after the first operand belongs to a script and not to the program.
    pub(super) fn end_at_operand(self) -> bool {
        self.each().any(|risks| risks.script_follows)
    }

    /// Whether `option` is one of the few harmless ones of a program whose other options are all risky.
    pub(super) fn only_harmless(self, option: &str) -> bool {
        let mut harmless = self.each().filter_map(|risks| risks.harmless.as_ref());
        harmless.any(|harmless| harmless.covers(option))
    }
}

/// Whether it has no option that writes or starts anything.
pub(super) fn is_harmless(program: &str) -> bool {
    has(HARMLESS, program)
}

/// One entry of the table, in a form for looking options up.
#[derive(Clone, Debug, Default)]
struct Risks {
    letters: String,
    long: Vec<&'static str>,
    words: Vec<&'static str>,
    beginnings: Vec<&'static str>,
    harmless: Option<Harmless>,
    script_follows: bool,
}

impl Risks {
    fn of_table(lines: &[Risky]) -> Self {
        let mut risks = Self::default();
        for line in lines {
            match line {
                Risky::Flag(options, _) => by_form(options, &mut risks.letters, &mut risks.long),
                Risky::Word(words, _) => risks.words.extend(words.split_whitespace()),
                Risky::Beginning(words, _) => risks.beginnings.extend(words.split_whitespace()),
                Risky::HarmlessOnly(options, _) => {
                    let harmless = risks.harmless.get_or_insert_default();
                    by_form(options, &mut harmless.letters, &mut harmless.long);
                }
                Risky::HarmlessValue(options) => {
                    let harmless = risks.harmless.get_or_insert_default();
                    by_form(options, &mut harmless.valued, &mut harmless.long);
                }
                Risky::ScriptFollows => risks.script_follows = true,
            }
        }
        risks
    }

    fn hold(&self, word: &Word) -> bool {
        let value = word.value.as_str();
        let harmless = self.harmless.as_ref();
        if harmless.is_some_and(|harmless| word.is_option() && !harmless.covers(value)) {
            return true;
        }
        let (name, _) = value.split_once('=').unwrap_or((value, ""));
        let is_word = |known: &&str| value == *known || name == *known;
        if self.words.iter().any(is_word)
            || self.beginnings.iter().any(|known| value.starts_with(known))
        {
            return true;
        }
        if value.starts_with("--") {
            // Many programs accept any beginning of a long option.
            return name.len() > 2 && self.long.iter().any(|long| long.starts_with(name));
        }
        word.is_option() && self.hold_letters(&value[1..])
    }

    fn hold_letters(&self, letters: &str) -> bool {
        letters.chars().any(|letter| self.letters.contains(letter))
    }
}

/// Adds `options` to the letters (`-o`) and the long ones (`--output`).
fn by_form(options: &'static str, letters: &mut String, long: &mut Vec<&'static str>) {
    for option in options.split_whitespace() {
        if option.starts_with("--") {
            long.push(option)
        } else {
            letters.push_str(option.trim_start_matches('-'))
        }
    }
}

/// The harmless options of a program whose other options may run or write something.
#[derive(Clone, Debug, Default)]
struct Harmless {
    letters: String,
    /// Letters that take a value, attached or in the next word.
    valued: String,
    long: Vec<&'static str>,
}

impl Harmless {
    fn covers(&self, option: &str) -> bool {
        if option.starts_with("--") {
            let name = option.split('=').next().unwrap_or(option);
            return self.long.contains(&name);
        }
        for letter in option.chars().skip(1) {
            if self.valued.contains(letter) {
                return true;
            }
            if !self.letters.contains(letter) && !letter.is_ascii_digit() {
                return false;
            }
        }
        true
    }
}

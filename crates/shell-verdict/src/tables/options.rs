//! Reads which options and operands of a program are harmless; `tables/README.md` describes the format.

use super::lists::section;

const TEXT: &str = include_str!("../../tables/options.txt");

/// Options that do the same in all programs that have them.
pub(crate) const HARMLESS_ANYWHERE: &str = section(TEXT, "harmless-anywhere");

/// Programs that have no option that writes somewhere or starts a program, except those that an entry names.
pub(crate) const HARMLESS: &str = section(TEXT, "harmless");

/// Every known program, by subject.
pub(crate) const TABLES: [(&str, &str); 9] = [
    ("files", include_str!("../../tables/files.txt")),
    ("text", include_str!("../../tables/text.txt")),
    ("system", include_str!("../../tables/system.txt")),
    ("packages", include_str!("../../tables/packages.txt")),
    ("building", include_str!("../../tables/building.txt")),
    (
        "interpreters",
        include_str!("../../tables/interpreters.txt"),
    ),
    ("network", include_str!("../../tables/network.txt")),
    ("databases", include_str!("../../tables/databases.txt")),
    ("git-options", include_str!("../../tables/git-options.txt")),
];

/// The facts about one or several programs, or about a subcommand of them.
#[derive(Debug)]
pub(crate) struct Entry {
    /// `cargo`, or `git clone`, or `git *` for any subcommand without an entry of its own.
    pub(crate) names: Vec<&'static str>,
    pub(crate) rules: Vec<Rule>,
}

/// One line about a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Options that must be spelled; they take precedence over all harmless ones. Read as getopt does: `-o` by itself
    /// or in a cluster of letters, `--output`, and any abbreviation of it that matches no other listed option.
    Flag(&'static str),
    /// Whole words that must be spelled, by themselves or with `=` and a value.
    Word(&'static str),
    /// Any word with this beginning must be spelled.
    Beginning(&'static str),
    /// Harmless options without a value, or with one after `=`.
    Harmless(&'static str),
    /// Harmless options with a value that is attached or in the next word.
    HarmlessValue(&'static str),
    /// Harmless words that begin with one dash: `-name`.
    HarmlessWord(&'static str),
    /// Harmless words that begin with one dash or two, with a value after `=` or in the next word.
    HarmlessWordValue(&'static str),
    /// Every option with this beginning is harmless.
    HarmlessBeginning(&'static str),
    /// Which operands are harmless; [`Operands::Plain`] by default.
    Takes(Operands),
    /// The operand with this number, counted from 0, and those after it must be spelled: the program writes them.
    SpelledFrom(usize),
    /// The only subcommands that need not be spelled.
    Subcommands(&'static str),
    /// Everything after the first operand belongs to a script, not to the program.
    ScriptFollows,
    /// A line in none of these forms: everything of the program must be spelled. A test finds such lines.
    Unreadable(&'static str),
}

/// The operands of a program that need not be spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operands {
    /// All operands.
    Any,
    /// All operands except those that begin with `@`, which names a file of options.
    NoResponseFile,
    /// Names, paths and numbers: no `=`, `@`, `:`, no blank, no sign of code, no `+` in front.
    Plain,
    /// Plain operands without a slash.
    Names,
    /// Names of packages, with their version.
    Packages,
    /// None.
    Spelled,
}

/// Reads the entries of a table.
pub(crate) fn entries(table: &'static str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut names_go_on = false;
    let lines = table.lines().filter(|line| !is_comment(line));
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let is_rule = line.starts_with(' ');
        if !is_rule {
            let names = line.split(',').map(str::trim);
            let names = names.filter(|name| !name.is_empty());
            match entries.last_mut() {
                Some(entry) if names_go_on => entry.names.extend(names),
                Some(_) | None => entries.push(Entry {
                    names: names.collect(),
                    rules: Vec::new(),
                }),
            }
            names_go_on = line.ends_with(',');
        } else if let Some(entry) = entries.last_mut() {
            entry
                .rules
                .push(rule(line.trim()).unwrap_or(Rule::Unreadable(line)));
        }
    }
    entries
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line == "#" || line.starts_with("# ")
}

/// Reads a line of an entry; `None` if it is not in the format.
fn rule(line: &'static str) -> Option<Rule> {
    let (keyword, rest) = line.split_once(' ').unwrap_or((line, ""));
    let with_reason = || {
        let (words, reason) = rest.split_once(" | ")?;
        (!words.trim().is_empty() && !reason.trim().is_empty()).then_some(words)
    };
    let all = |is_one: fn(&str) -> bool| {
        let has_words = !rest.trim().is_empty() && !rest.contains(" | ");
        (has_words && rest.split_whitespace().all(is_one)).then_some(rest)
    };
    Some(match keyword {
        "flag" => {
            let words = with_reason()?;
            let are_flags = words.split_whitespace().all(is_flag);
            are_flags.then_some(Rule::Flag(words))?
        }
        "word" => Rule::Word(with_reason()?),
        "beginning" => Rule::Beginning(with_reason()?),
        "harmless" => Rule::Harmless(all(is_flag)?),
        "harmless-value" => Rule::HarmlessValue(all(is_flag)?),
        "harmless-word" => Rule::HarmlessWord(all(is_option)?),
        "harmless-word-value" => Rule::HarmlessWordValue(all(is_option)?),
        "harmless-beginning" => Rule::HarmlessBeginning(all(is_option)?),
        "subcommands" => Rule::Subcommands(all(|word| !word.is_empty())?),
        "takes" => Rule::Takes(match rest {
            "anything" => Operands::Any,
            "no-response-file" => Operands::NoResponseFile,
            "plain" => Operands::Plain,
            "names" => Operands::Names,
            "packages" => Operands::Packages,
            "nothing" => Operands::Spelled,
            _ => return None,
        }),
        "spelled-from" => Rule::SpelledFrom(rest.parse().ok()?),
        "script-follows" if rest.is_empty() => Rule::ScriptFollows,
        _ => return None,
    })
}

/// Returns whether it is a letter after one dash or a name after two.
fn is_flag(word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(name) => !name.is_empty(),
        None => word.len() == 2 && word.starts_with('-'),
    }
}

fn is_option(word: &str) -> bool {
    word.starts_with('-')
}

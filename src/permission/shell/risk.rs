//! Words that a wildcard may not cover: options that write or start programs, and code.
//!
//! Whoever allows `git log .*` means to allow reading history, not `git log --output=~/.bashrc`. Such a word is
//! allowed only by a pattern that spells it.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::options::{self, Options};
use super::plain;
use super::programs;
use super::tree::Written;
use super::word::Word;

/// A place in a command that a pattern must spell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::permission) enum Risk {
    /// An option: its name must be spelled, its value need not.
    Option(Range<usize>),
    /// Code, a command or a file written to: all of it must be spelled.
    Whole(Range<usize>),
}

/// The risks in one simple command.
pub(super) fn of(words: &[Word]) -> Vec<Risk> {
    let Some((program, arguments)) = words.split_first() else {
        return Vec::new();
    };
    let name = plain::name(&program.value);
    let whole = |words: &[Word]| {
        words
            .iter()
            .map(|word| Risk::Whole(word.place.clone()))
            .collect::<Vec<_>>()
    };
    if programs::is_wrapper(name) || programs::is_shell(name) || programs::changes_the_shell(name) {
        return whole(arguments);
    }
    let known: Vec<&str> = words
        .iter()
        .map(|word| word.known().unwrap_or("$"))
        .collect();
    if let Some(count) = programs::runner(&known) {
        let rest = &words[count.min(words.len())..];
        if programs::runs_elsewhere(name) || rest.first().is_none_or(Word::is_option) {
            return whole(rest);
        }
        // Which program is run must be spelled; what it does is judged as if it ran alone.
        let program = rest.first().map(|word| Risk::Option(word.place.clone()));
        return program.into_iter().chain(of(rest)).collect();
    }
    let mut risks = Vec::new();
    let mut options = options::risky(name, subcommand(arguments));
    for (index, word) in arguments.iter().enumerate() {
        // After `--` there are only operands, for programs that keep to that; some hand the rest on.
        if word.value == "--" {
            match name {
                "find" | "go" | "java" => continue,
                "npm" | "pnpm" | "yarn" => options = options::risky("jest", ""),
                "cargo" => options = options::risky("libtest", ""),
                _ => break,
            }
            continue;
        }
        if is_risky_option(word, &options)
            || (index == 0 && name == "tar" && is_cluster(&word.value, options.short))
        {
            let end = word
                .value
                .find('=')
                .map_or(word.place.end, |equals| word.place.start + equals);
            risks.push(Risk::Option(word.place.start..end.min(word.place.end)));
        }
    }
    risks.extend(
        code(name, arguments)
            .into_iter()
            .map(|word| Risk::Whole(word.place.clone())),
    );
    risks
}

/// Why several commands together are more than each alone, if so.
pub(super) fn of_all(commands: &[Written]) -> Option<String> {
    let mut moved = false;
    for command in commands {
        let Some((program, arguments)) = command.words.split_first() else {
            continue;
        };
        let name = plain::name(&program.value);
        if moved && name == "git" {
            return Some(
                "it runs git in another folder, whose configuration may start programs".to_owned(),
            );
        }
        if matches!(name, "cd" | "pushd" | "popd") && commands.len() > 1 {
            let target = arguments
                .iter()
                .find(|word| !word.is_option())
                .map(|word| word.value.as_str());
            let stays = target.is_some_and(|target| {
                !matches!(target, "" | "-")
                    && !target.starts_with('/')
                    && !target.split('/').any(|part| part == "..")
            });
            if !stays || name != "cd" {
                return Some("it leaves the folder before it runs something".to_owned());
            }
            moved = true;
        }
    }
    None
}

fn subcommand(arguments: &[Word]) -> &str {
    arguments
        .iter()
        .find(|word| !word.is_option())
        .map(|word| word.value.as_str())
        .unwrap_or_default()
}

fn is_risky_option(word: &Word, options: &Options) -> bool {
    let value = word.value.as_str();
    if options
        .exact
        .split_whitespace()
        .any(|exact| value == exact || value.starts_with(&format!("{exact}=")))
    {
        return true;
    }
    if options
        .prefixes
        .split_whitespace()
        .any(|prefix| value.starts_with(prefix))
    {
        return true;
    }
    if value.starts_with("--") {
        let name = value.split('=').next().unwrap_or(value);
        // Many programs take any beginning of a long option for the whole.
        return name.len() > 2
            && options
                .long
                .split_whitespace()
                .any(|long| long.starts_with(name));
    }
    word.is_option() && is_cluster(&value[1..], options.short)
}

fn is_cluster(letters: &str, short: &str) -> bool {
    letters.chars().any(|letter| short.contains(letter))
}

/// Arguments that are code, or files written to without an option saying so.
fn code<'a>(name: &str, arguments: &'a [Word]) -> Vec<&'a Word> {
    let operands: Vec<&Word> = arguments.iter().filter(|word| !word.is_option()).collect();
    match name {
        "sed" | "gsed" => operands
            .iter()
            .take(1)
            .chain(&after(arguments, &["-e", "--expression"]))
            .filter(|word| !is_harmless_sed(&word.value))
            .copied()
            .collect(),
        _ if programs::is_awk(name) => operands
            .into_iter()
            .filter(|word| !is_harmless_awk(&word.value))
            .collect(),
        // The second operand is where they write.
        "uniq" | "xxd" | "ptx" => operands.into_iter().skip(1).collect(),
        "make" | "gmake" => operands
            .into_iter()
            .filter(|word| word.value.contains('='))
            .collect(),
        "cargo" => operands
            .into_iter()
            .filter(|word| word.value.starts_with('+'))
            .collect(),
        "less" | "more" | "vim" | "vi" | "nvim" | "view" | "ex" | "emacs" => operands
            .into_iter()
            .filter(|word| word.value.starts_with('+'))
            .collect(),
        "dc" | "ed" | "tclsh" | "expect" | "gnuplot" | "m4" => arguments.iter().collect(),
        "git" => operands
            .into_iter()
            .filter(|word| {
                word.value.contains("::")
                    && !word.value.contains("://")
                    && !word.value.contains(' ')
            })
            .collect(),
        _ => match programs::code_options(name) {
            Some(options) => after(arguments, options),
            None => Vec::new(),
        },
    }
}

/// The words after any of `options`, and those options with their value attached.
fn after<'a>(arguments: &'a [Word], options: &[&str]) -> Vec<&'a Word> {
    let mut found = Vec::new();
    for (index, word) in arguments.iter().enumerate() {
        let is_cluster = |option: &&str| {
            option.len() == 2
                && word.is_option()
                && !word.value.starts_with("--")
                && word.value.contains(&option[1..])
        };
        let is_long =
            |option: &&str| word.value == **option || word.value.starts_with(&format!("{option}="));
        if options
            .iter()
            .any(|option| is_cluster(option) || is_long(option))
        {
            found.push(word);
            found.extend(arguments.get(index + 1));
        }
    }
    found
}

/// Whether a sed script only prints, deletes, stops and replaces.
fn is_harmless_sed(script: &str) -> bool {
    static HARMLESS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let address = r"(?:[0-9]+|\$|/[^/]*/)";
        let command = r"(?:[pdq=]|s/[^/]*/[^/]*/[gpiI0-9]*|s\|[^|]*\|[^|]*\|[gpiI0-9]*|s#[^#]*#[^#]*#[gpiI0-9]*|s,[^,]*,[^,]*,[gpiI0-9]*)";
        let one = format!(r"\s*(?:{address}(?:,\s*(?:{address}|\+[0-9]+))?)?\s*!?\s*{command}\s*");
        Regex::new(&format!(r"^{one}(?:;{one})*;?$")).ok()
    });
    !script.contains(['\n', '\\'])
        && HARMLESS
            .as_ref()
            .is_some_and(|harmless| harmless.is_match(script))
        || HARMLESS
            .as_ref()
            .is_some_and(|harmless| harmless.is_match(&script.replace("\\.", "x")))
            && !script.replace("\\.", "x").contains(['\n', '\\'])
}

/// Whether an argument of awk neither starts a program nor writes a file.
fn is_harmless_awk(argument: &str) -> bool {
    ![
        "system", "getline", "|", ">", "@", "print -", "close(", "fflush", "ENVIRON", "-f",
    ]
    .iter()
    .any(|sign| argument.contains(sign))
}

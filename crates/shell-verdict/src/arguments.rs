//! Reads the arguments of a program by the tables: which of its options, subcommands and operands a wildcard does not cover.

use super::git;
use super::options::{Covered, Options, Spelling};
use super::risk::Risk;
use super::word::Word;

/// Returns the options, subcommands and operands that the tables do not count as harmless.
pub(super) fn of_arguments(text: &str, name: &str, arguments: &[Word]) -> Vec<Risk> {
    let first = first_operand(name, arguments);
    let subcommand = first
        .as_ref()
        .filter(|first| first.certainty == Certainty::Sure)
        .map_or("", |first| arguments[first.at].value.as_str());
    let mut options = Options::of(name, subcommand);
    let mut risks = Vec::new();
    let mut is_value = false;
    let mut ended = false;
    let mut operands = 0;
    for (index, word) in arguments.iter().enumerate() {
        // The value of an option may be a file's content.
        let is_plain_value = !word.is_option() && !word.value.starts_with('@');
        if std::mem::take(&mut is_value) && is_plain_value {
            continue;
        }
        if word.value == "--" && !ended {
            match behind_dashes(name, subcommand) {
                Behind::Operands if options.are_unknown() => {
                    risks.push(Risk::Whole(word.place.clone()));
                }
                Behind::Operands => ended = true,
                Behind::More => {}
                Behind::Program(program, subcommand) => {
                    options = Options::of(program, subcommand);
                }
                Behind::Script => break,
            }
            continue;
        }
        if word.is_option() && !ended {
            match options.cover(&word.value) {
                Covered::Yes => {}
                Covered::WithNext => is_value = true,
                Covered::No => risks.push(named(text, word)),
            }
            continue;
        }
        // Only if no option before it can take it as its value.
        let may_be_script = word.value != "-" && !word.value.starts_with('@');
        if options.end_at_operand() && risks.is_empty() && may_be_script {
            break;
        }
        operands += 1;
        let may_be_subcommand = match first.as_ref().map(|first| first.certainty) {
            Some(Certainty::Sure) => operands == 1,
            Some(Certainty::Unsure) => operands <= 2,
            None => false,
        };
        if matches!(name, "tar" | "gtar" | "bsdtar")
            && index == 0
            && !options.cover_first_word(&word.value)
            || may_be_subcommand && options.lack_subcommand(&word.value)
            || options.write_operand(operands - 1)
        {
            risks.push(Risk::Whole(word.place.clone()));
            continue;
        }
        if word.value == "-" && options.are_unknown() {
            risks.push(Risk::Whole(word.place.clone()));
            continue;
        }
        match options.spelling(&word.value) {
            Spelling::Nothing => {}
            Spelling::Beginning(bytes) => risks.push(beginning(text, word, bytes)),
            Spelling::Whole => risks.push(Risk::Whole(word.place.clone())),
        }
    }
    risks
}

/// The first operand of a program, which may be its subcommand.
pub(super) struct First {
    pub(super) at: usize,
    certainty: Certainty,
}

/// How certain it is that a word is an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Certainty {
    Sure,
    /// An option before it that the tables do not know may take it as its value.
    Unsure,
}

pub(super) fn first_operand(name: &str, arguments: &[Word]) -> Option<First> {
    if name == "git" {
        let at = git::subcommand(arguments)?;
        let certainty = Certainty::Sure;
        return Some(First { at, certainty });
    }
    let options = Options::of(name, "");
    let mut certainty = Certainty::Sure;
    let mut is_value = false;
    for (at, word) in arguments.iter().enumerate() {
        if !word.is_option() {
            if std::mem::take(&mut is_value) {
                continue;
            }
            return Some(First { at, certainty });
        }
        match options.cover(&word.value) {
            Covered::Yes => is_value = false,
            Covered::WithNext => is_value = true,
            Covered::No => {
                is_value = false;
                if !word.value.contains('=') {
                    certainty = Certainty::Unsure;
                }
            }
        }
    }
    None
}

/// Returns the possible positions of a program's subcommand among its arguments: its first operand, and also the second
/// if an option before may take the first as its value.
pub(super) fn subcommand_places(name: &str, arguments: &[Word]) -> Vec<usize> {
    let Some(first) = first_operand(name, arguments) else {
        return Vec::new();
    };
    let mut later = (first.at + 1..arguments.len()).filter(|at| !arguments[*at].is_option());
    let second = later
        .next()
        .filter(|_| first.certainty == Certainty::Unsure);
    std::iter::once(first.at).chain(second).collect()
}

/// The meaning of the words after `--`.
enum Behind {
    Operands,
    /// Further options: the program does not follow that rule.
    More,
    /// Arguments of this program and subcommand.
    Program(&'static str, &'static str),
    /// Arguments of a program of the workspace.
    Script,
}

fn behind_dashes(name: &str, subcommand: &str) -> Behind {
    match (name, subcommand) {
        ("find" | "go" | "java", _) => Behind::More,
        ("npm" | "pnpm" | "yarn", _) => Behind::Program("jest", ""),
        // `gh repo clone a/b -- -c core.pager=x`.
        ("gh" | "glab" | "hub", _) => Behind::Program("git", "clone"),
        ("cargo", "rustc" | "rustdoc" | "clippy" | "miri") => Behind::Program("rustc", ""),
        ("cargo", "fmt") => Behind::Program("rustfmt", ""),
        ("cargo", "run" | "r") => Behind::Script,
        ("cargo", _) => Behind::Program("libtest", ""),
        _ => Behind::Operands,
    }
}

/// Returns an option with a name that must be spelled; its value need not be.
fn named(text: &str, word: &Word) -> Risk {
    let bytes = word.value.find('=').unwrap_or(word.value.len());
    beginning(text, word, bytes)
}

/// Returns a word with its first `bytes` to be spelled, or all of it if they contain quotes.
fn beginning(text: &str, word: &Word, bytes: usize) -> Risk {
    let place = word.place.clone();
    let source = text.get(place.clone()).unwrap_or_default();
    if bytes <= source.len() && word.value.get(..bytes) == source.get(..bytes) {
        Risk::Option(place.start..place.start + bytes)
    } else {
        Risk::Whole(place)
    }
}

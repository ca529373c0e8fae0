//! Words that a wildcard may not match: options that write or start programs, and code.
//!
//! A person who allows `git log .*` means to allow reading history, not `git log --output=~/.bashrc`. Such a word is
//! allowed only by a pattern that spells it.

use std::ops::Range;

use super::arguments::{first_operand, of_arguments, subcommand_places};
use super::git;
use super::input;
use super::options::{self, Covered, Options};
use super::plain;
use super::programs;
use super::remote;
use super::scripts::{is_harmless_awk, is_harmless_sed, is_harmless_sql, sed_scripts};
use super::settings;
use super::tables::has;
use super::tables::programs::{CARGO_OWN, DATABASE_CLIENTS, RUN_THEIR_INPUT, SHOWS};
use super::tree::{Input, Written};
use super::word::Word;

/// A part of a command that a pattern must spell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Risk {
    /// An option: its name must be spelled, its value need not.
    Option(Range<usize>),
    /// Code, a command or a file to write: all of it must be spelled.
    Whole(Range<usize>),
}

/// How many programs may run each other in a row before all of the rest must be spelled.
const DEEPEST: usize = 8;

/// Most words after a wrapper that are searched for a program that runs its input.
const MOST_WRAPPED: usize = 64;

/// Returns the risks in one simple command of this text.
pub(super) fn of(text: &str, words: &[Word]) -> Vec<Risk> {
    at_depth(text, words, 0)
}

fn at_depth(text: &str, words: &[Word], depth: usize) -> Vec<Risk> {
    let Some((program, arguments)) = words.split_first() else {
        return Vec::new();
    };
    let name = plain::name(&program.value);
    if programs::is_wrapper(name) || programs::is_shell(name) || programs::changes_the_shell(name) {
        return whole(arguments);
    }
    if let Some(count) = run_from(name, words) {
        let rest = &words[count.min(words.len())..];
        if programs::runs_elsewhere(name)
            || rest.first().is_none_or(Word::is_option)
            || depth == DEEPEST
        {
            return whole(&words[1..]);
        }
        // The program that is run must be spelled; its effect is judged as if it ran by itself.
        let before = &words[1..count.min(words.len())];
        let options = before.iter().filter(|word| word.is_option());
        let program = rest.first().map(|word| Risk::Option(word.place.clone()));
        return options
            .map(|word| Risk::Whole(word.place.clone()))
            .chain(program)
            .chain(at_depth(text, rest, depth + 1))
            .collect();
    }
    let mut risks = match name {
        "git" => git::before_subcommand(arguments),
        _ => Vec::new(),
    };
    risks.extend(of_arguments(text, name, arguments));
    risks.extend(whole(code(name, arguments)));
    risks.extend(whole(settings::named(words)));
    risks.extend(whole(subcommand_code(name, arguments)));
    // The first one that is not spelled is named to people.
    risks.sort_by_key(|risk| match risk {
        Risk::Option(place) | Risk::Whole(place) => (place.start, place.end),
    });
    risks
}

/// Returns how many words come before the command that a program runs, if it runs one.
fn run_from(name: &str, words: &[Word]) -> Option<usize> {
    let known: Vec<&str> = words
        .iter()
        .map(|word| word.known().unwrap_or("$"))
        .collect();
    // Options and their values may stand before the subcommand.
    let places = subcommand_places(name, words.get(1..).unwrap_or_default());
    std::iter::once(0).chain(places).find_map(|place| {
        let rest = known.get(1 + place..)?;
        let from_there: Vec<&str> = known.first().into_iter().chain(rest).copied().collect();
        Some(place + programs::runner(&from_there)?)
    })
}

/// Returns these words, each to be spelled from beginning to end.
fn whole<'a>(words: impl IntoIterator<Item = &'a Word>) -> Vec<Risk> {
    let words = words.into_iter();
    words.map(|word| Risk::Whole(word.place.clone())).collect()
}

/// Returns why several commands together are riskier than each by itself, if so.
pub(super) fn of_all(commands: &[Written]) -> Option<String> {
    let mut moved = false;
    for command in commands {
        let Some((program, arguments)) = command.words.split_first() else {
            continue;
        };
        let name = plain::name(&program.value);
        if command.input != Input::Nothing {
            if runs_its_input(name, arguments) {
                return Some("it runs what another command prints".to_owned());
            }
            if !takes_input_as_data(name) {
                return Some(format!(
                    "`{name}` may run what another command prints: it is not known to take its input for data"
                ));
            }
        }
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

/// Returns whether a program takes commands or code from its standard input, or starts one that does.
fn runs_its_input(name: &str, arguments: &[Word]) -> bool {
    reads_code(name, arguments)
        || programs::is_wrapper(name)
            && (arguments.len() > MOST_WRAPPED
                || arguments.iter().enumerate().any(|(at, word)| {
                    let rest = arguments.get(at + 1..).unwrap_or_default();
                    !word.is_option() && reads_code(plain::name(&word.value), rest)
                }))
}

/// Returns whether it is a shell, an interpreter without a script, or a client that reads commands.
fn reads_code(name: &str, arguments: &[Word]) -> bool {
    if programs::is_shell(name) || programs::takes_commands(name) || has(RUN_THEIR_INPUT, name) {
        return true;
    }
    if has(DATABASE_CLIENTS, name) {
        let has_statement = operands(arguments).len() > 1;
        return !matches!(name, "sqlite" | "sqlite3" | "duckdb") || !has_statement;
    }
    programs::code_options(name).is_some() && {
        let first = first_operand(name, arguments).map(|first| arguments[first.at].value.as_str());
        // A word that is not a path may be a command of the interpreter: `node inspect`.
        let is_path = |script: &str| script.contains(['.', '/']);
        first.is_none_or(|script| !is_path(script) || input::is_stream(script))
    }
}

/// Returns whether a program is known to treat its standard input as data. A wrapper passes it to a program that must
/// be spelled, and an interpreter to a script that must be spelled.
fn takes_input_as_data(name: &str) -> bool {
    options::is_harmless(name)
        || programs::is_filter(name)
        || programs::is_wrapper(name)
        || programs::code_options(name).is_some()
        || has(DATABASE_CLIENTS, name)
}

/// Returns the operands after a subcommand that changes what later commands run, or that is another program.
fn subcommand_code<'a>(name: &str, arguments: &'a [Word]) -> Vec<&'a Word> {
    let places = subcommand_places(name, arguments).into_iter();
    let of_one = |place: usize| -> Vec<&'a Word> {
        let operands = operands(&arguments[place..]);
        let value = |at: usize| operands.get(at).map_or("", |word| word.value.as_str());
        let changes = match name {
            "gh" | "glab" | "hub" => changes_forge(&operands),
            "npm" | "pnpm" | "yarn" | "bun" => changes_package(name, &operands),
            "cargo" => return cargo_code(operands),
            _ => false,
        };
        if changes || programs::configures(name, value(0)) && !has(SHOWS, value(1)) {
            operands
        } else {
            Vec::new()
        }
    };
    places.flat_map(of_one).collect()
}

/// Returns arguments that are code, or files that are written without an option.
fn code<'a>(name: &str, arguments: &'a [Word]) -> Vec<&'a Word> {
    let operands = operands(arguments);
    let those = |is_it: &dyn Fn(&str) -> bool| -> Vec<&'a Word> {
        let words = arguments.iter();
        words.filter(|word| is_it(&word.value)).collect()
    };
    match name {
        "sed" | "gsed" => sed_code(arguments),
        "test" | "[" => tests_code(arguments),
        "go" if operands.first().is_some_and(|word| word.value == "env") => {
            those(&|value| value.starts_with("-w") || value.starts_with("-u"))
        }
        "dd" => those(&|value| value.starts_with("of=")),
        // A name with a colon is a file on another machine, which a program fetches.
        "tar" | "gtar" => {
            let names_file = |value: &str| {
                let name = value.split('=').next().unwrap_or(value);
                !value.starts_with("--") || "--file".starts_with(name)
            };
            those(&|value| value.contains(':') && names_file(value))
        }
        // The value of `-H` or `-w` may be a file's content, also after other letters.
        "curl" => those(&|value| {
            let is_cluster = value.starts_with('-') && !value.starts_with("--");
            value.contains("%output{")
                || is_cluster && (value.contains("H@") || value.contains("w@"))
        }),
        "ip" | "tc" | "bridge" => iproute_code(arguments),
        "sqlite3" | "sqlite" | "duckdb" => operands
            .into_iter()
            .skip(1)
            .filter(|word| !is_harmless_sql(&word.value))
            .collect(),
        "gh" | "glab" | "hub" | "npm" | "pnpm" | "yarn" => Vec::new(),
        _ if programs::is_awk(name) => operands
            .into_iter()
            .filter(|word| !is_harmless_awk(&word.value))
            .collect(),
        "make" | "gmake" => operands
            .into_iter()
            .filter(|word| word.value.contains('='))
            .collect(),
        "less" | "more" | "vim" | "vi" | "nvim" | "view" | "ex" | "emacs" | "gvim" | "rvim"
        | "rview" | "vimdiff" | "gvimdiff" | "nvimdiff" | "nano" => operands
            .into_iter()
            .filter(|word| word.value.starts_with('+'))
            .collect(),
        "dc" | "ed" | "tclsh" | "expect" | "gnuplot" | "m4" => arguments.iter().collect(),
        "git" => git::code(arguments),
        _ => match programs::code_options(name) {
            Some(options) => after(before_script(name, arguments), &options),
            None => Vec::new(),
        },
    }
}

fn sed_code(arguments: &[Word]) -> Vec<&Word> {
    let scripts = sed_scripts(arguments).into_iter();
    scripts
        .filter(|(_, script)| !is_harmless_sed(script))
        .map(|(word, _)| word)
        .collect()
}

/// Returns the arguments with code in the brackets of a variable's name, which is evaluated: `test -v 'a[$(id)]'`.
fn tests_code(arguments: &[Word]) -> Vec<&Word> {
    let asks_for_names = arguments
        .iter()
        .any(|word| matches!(word.value.as_str(), "-v" | "-R"));
    let is_code = |word: &&Word| {
        let value = &word.value;
        value.contains("$(") || value.contains('`') || (asks_for_names && value.contains('['))
    };
    arguments.iter().filter(is_code).collect()
}

fn iproute_code(arguments: &[Word]) -> Vec<&Word> {
    // Any beginning of a word is accepted for it, with one dash or two.
    let runs = |word: &Word| {
        let option = word.value.trim_start_matches('-');
        !option.is_empty()
            && ("exec".starts_with(&*word.value) || word.is_option() && "batch".starts_with(option))
    };
    if arguments.iter().any(runs) {
        arguments.iter().collect()
    } else {
        Vec::new()
    }
}

/// Returns whether these operands of a forge's program change what it will run.
fn changes_forge(operands: &[&Word]) -> bool {
    let noun = operands.first().map_or("", |word| word.value.as_str());
    let verb = operands.get(1).map_or("", |word| word.value.as_str());
    match noun {
        "alias" | "extension" | "extensions" | "ext" => !matches!(verb, "list" | "ls"),
        "codespace" | "cs" => !matches!(verb, "list" | "ls" | "view"),
        "auth" => verb != "status",
        "config" => !matches!(verb, "get" | "list" | "ls"),
        // An alias or an extension that a user made.
        noun => !remote::is_forge_command(noun),
    }
}

/// Returns whether these operands of a package manager change what it will run.
fn changes_package(name: &str, operands: &[&Word]) -> bool {
    let first = operands.first().map_or("", |word| word.value.as_str());
    let second = operands.get(1).map_or("", |word| word.value.as_str());
    let is = |known: &str| programs::stands_for(name, first, known);
    is("config") && !matches!(second, "get" | "list" | "ls" | "")
        || is("pkg") && !matches!(second, "get" | "")
        || is("set-script")
}

fn cargo_code(operands: Vec<&Word>) -> Vec<&Word> {
    operands
        .into_iter()
        .enumerate()
        .filter(|(at, word)| {
            word.value.starts_with('+') || (*at == 0 && !has(CARGO_OWN, &word.value))
        })
        .map(|(_, word)| word)
        .collect()
}

/// Returns the interpreter's own arguments: those after its script belong to the script.
fn before_script<'a>(name: &str, arguments: &'a [Word]) -> &'a [Word] {
    let options = Options::of(name, "");
    if !options.end_at_operand() {
        return arguments;
    }
    let is_plain = |word: &&Word| word.is_option() && options.cover(&word.value) == Covered::Yes;
    let plain = arguments.iter().take_while(is_plain).count();
    match arguments.get(plain) {
        Some(word) if !word.is_option() => &arguments[..plain],
        Some(_) | None => arguments,
    }
}

/// Returns the words that are not options, including those after `--` that look like one.
pub(super) fn operands(arguments: &[Word]) -> Vec<&Word> {
    let mut ended = false;
    let mut operands = Vec::new();
    for word in arguments {
        match word.value == "--" && !ended {
            true => ended = true,
            false if ended || !word.is_option() => operands.push(word),
            false => {}
        }
    }
    operands
}

/// Returns the words after any of `options`, and those options with their value attached.
fn after<'a>(arguments: &'a [Word], options: &[&str]) -> Vec<&'a Word> {
    let mut found = Vec::new();
    for (index, word) in arguments.iter().enumerate() {
        let is_cluster = |option: &&str| {
            option.len() == 2
                && word.is_option()
                && !word.value.starts_with("--")
                && word.value.contains(&option[1..])
        };
        // Many programs accept any beginning of a long option.
        let is_long = |option: &&str| {
            let name = word.value.split('=').next().unwrap_or(&word.value);
            name == *option
                || (name.len() > 2 && name.starts_with("--") && option.starts_with(name))
        };
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

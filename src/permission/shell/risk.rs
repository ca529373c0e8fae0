//! Words that a wildcard may not match: options that write or start programs, and code.
//!
//! Whoever allows `git log .*` means to allow reading history, not `git log --output=~/.bashrc`. Such a word is
//! allowed only by a pattern that spells it.

use std::ops::Range;

use super::input;
use super::options::{Covered, Options, Spelling};
use super::plain;
use super::programs;
use super::remote;
use super::scripts::{is_harmless_awk, is_harmless_sed, is_harmless_sql, sed_scripts};
use super::settings;
use super::tables::elsewhere::{
    GIT_BEFORE_HARMLESS, GIT_CONFIG_OPTIONS, GIT_CONFIG_READS, GIT_CONFIG_VERBS, GIT_PLAIN,
    GIT_REMOTES, GIT_RUNS_OTHERS,
};
use super::tables::has;
use super::tables::programs::{CARGO_OWN, DATABASE_CLIENTS, RUN_THEIR_INPUT, SHOWS};
use super::tree::{Input, Written};
use super::word::Word;

/// A place in a command that a pattern must spell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::permission) enum Risk {
    /// An option: its name must be spelled, its value need not.
    Option(Range<usize>),
    /// Code, a command or a file written to: all of it must be spelled.
    Whole(Range<usize>),
}

/// How many programs may each run the next before all of the rest must be spelled.
const DEEPEST: usize = 8;

/// The risks in one simple command of this text.
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
    let known: Vec<&str> = words
        .iter()
        .map(|word| word.known().unwrap_or("$"))
        .collect();
    if let Some(count) = programs::runner(&known) {
        let rest = &words[count.min(words.len())..];
        if programs::runs_elsewhere(name)
            || rest.first().is_none_or(Word::is_option)
            || depth == DEEPEST
        {
            return whole(&words[1..]);
        }
        // The program that is run must be spelled; what it does is judged as if it ran alone.
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
        "git" => git_before(arguments),
        _ => Vec::new(),
    };
    risks.extend(of_arguments(text, name, arguments));
    risks.extend(whole(code(name, arguments)));
    risks.extend(whole(settings::named(words)));
    // The first that is not spelled is named to people.
    risks.sort_by_key(|risk| match risk {
        Risk::Option(place) | Risk::Whole(place) => (place.start, place.end),
    });
    risks
}

/// These words, each to be spelled from its beginning to its end.
fn whole<'a>(words: impl IntoIterator<Item = &'a Word>) -> Vec<Risk> {
    let words = words.into_iter();
    words.map(|word| Risk::Whole(word.place.clone())).collect()
}

/// The options, subcommands and operands that the tables do not count as harmless.
fn of_arguments(text: &str, name: &str, arguments: &[Word]) -> Vec<Risk> {
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
        // Only where no option before can take it as its value.
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
struct First {
    at: usize,
    certainty: Certainty,
}

/// Whether a word can be anything but an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Certainty {
    Sure,
    /// An option before it, which the tables do not know, may take it as its value.
    Unsure,
}

fn first_operand(name: &str, arguments: &[Word]) -> Option<First> {
    if name == "git" {
        let at = git_subcommand(arguments)?;
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

/// What stands behind `--`.
enum Behind {
    Operands,
    /// Further options of the program, which does not follow that rule.
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

/// An option whose name must be spelled, and its value need not.
fn named(text: &str, word: &Word) -> Risk {
    let bytes = word.value.find('=').unwrap_or(word.value.len());
    beginning(text, word, bytes)
}

/// A word whose first `bytes` must be spelled; all of it where quotes stand among these.
fn beginning(text: &str, word: &Word, bytes: usize) -> Risk {
    let place = word.place.clone();
    let source = text.get(place.clone()).unwrap_or_default();
    if bytes <= source.len() && word.value.get(..bytes) == source.get(..bytes) {
        Risk::Option(place.start..place.start + bytes)
    } else {
        Risk::Whole(place)
    }
}

/// Why several commands together are riskier than each alone, if so.
pub(super) fn of_all(commands: &[Written]) -> Option<String> {
    let mut moved = false;
    for command in commands {
        let Some((program, arguments)) = command.words.split_first() else {
            continue;
        };
        let name = plain::name(&program.value);
        if command.input != Input::Nothing && runs_its_input(name, arguments) {
            return Some("it runs what another command prints".to_owned());
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

/// Whether a program takes commands or code from its standard input: a shell, an interpreter without a script, a client.
fn runs_its_input(name: &str, arguments: &[Word]) -> bool {
    let first = first_operand(name, arguments).map(|first| arguments[first.at].value.as_str());
    let has_script = first.is_some_and(|script| script != "-" && !input::is_stream(script));
    let is_database = has(DATABASE_CLIENTS, name);
    programs::is_shell(name)
        || programs::takes_commands(name)
        || has(RUN_THEIR_INPUT, name)
        || is_database && operands(arguments).len() < 2
        || !is_database && !has_script && programs::code_options(name).is_some()
}

fn subcommand(arguments: &[Word]) -> &str {
    arguments
        .iter()
        .find(|word| !word.is_option())
        .map(|word| word.value.as_str())
        .unwrap_or_default()
}

/// Arguments that are code, or files that are written without an option.
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
        // A name with a colon is a file on another machine, fetched with a program.
        "tar" | "gtar" => {
            let names_file = |value: &str| {
                let name = value.split('=').next().unwrap_or(value);
                !value.starts_with("--") || "--file".starts_with(name)
            };
            those(&|value| value.contains(':') && names_file(value))
        }
        // The value of `-H` or `-w` may be a file's content, also behind other letters.
        "curl" => those(&|value| {
            let is_cluster = value.starts_with('-') && !value.starts_with("--");
            value.contains("%output{")
                || is_cluster && (value.contains("H@") || value.contains("w@"))
        }),
        "ip" | "tc" | "bridge" => iproute_code(arguments),
        _ if programs::configures(name, subcommand(arguments)) => {
            let verb = operands.get(1).map_or("", |word| word.value.as_str());
            if has(SHOWS, verb) {
                Vec::new()
            } else {
                operands
            }
        }
        "sqlite3" | "sqlite" | "duckdb" => operands
            .into_iter()
            .skip(1)
            .filter(|word| !is_harmless_sql(&word.value))
            .collect(),
        "gh" | "glab" | "hub" if changes_forge(&operands) => operands,
        "npm" | "pnpm" | "yarn" if changes_package(&operands) => operands,
        "gh" | "glab" | "hub" | "npm" | "pnpm" | "yarn" => Vec::new(),
        _ if programs::is_awk(name) => operands
            .into_iter()
            .filter(|word| !is_harmless_awk(&word.value))
            .collect(),
        "make" | "gmake" => operands
            .into_iter()
            .filter(|word| word.value.contains('='))
            .collect(),
        "cargo" => cargo_code(operands),
        "less" | "more" | "vim" | "vi" | "nvim" | "view" | "ex" | "emacs" | "gvim" | "rvim"
        | "rview" | "vimdiff" | "gvimdiff" | "nvimdiff" | "nano" => operands
            .into_iter()
            .filter(|word| word.value.starts_with('+'))
            .collect(),
        "dc" | "ed" | "tclsh" | "expect" | "gnuplot" | "m4" => arguments.iter().collect(),
        "git" => git_code(arguments),
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

/// The brackets of a variable's name are evaluated: `test -v 'a[$(id)]'`.
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
    // Any beginning of a word stands for it, and one dash or two.
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

/// Whether these operands of a forge's program change what it will run.
fn changes_forge(operands: &[&Word]) -> bool {
    let noun = operands.first().map_or("", |word| word.value.as_str());
    let verb = operands.get(1).map_or("", |word| word.value.as_str());
    match noun {
        "alias" | "extension" | "extensions" | "ext" => !matches!(verb, "list" | "ls"),
        "codespace" | "cs" => !matches!(verb, "list" | "ls" | "view"),
        "auth" => verb != "status",
        "config" => !matches!(verb, "get" | "list" | "ls"),
        // An alias or an extension that somebody made.
        noun => !remote::is_forge_command(noun),
    }
}

/// Whether these operands of a package manager change what it will run.
fn changes_package(operands: &[&Word]) -> bool {
    let first = operands.first().map_or("", |word| word.value.as_str());
    let second = operands.get(1).map_or("", |word| word.value.as_str());
    match first {
        "config" | "c" => !matches!(second, "get" | "list" | "ls" | ""),
        "pkg" => !matches!(second, "get" | ""),
        "set" | "set-script" => true,
        _ => false,
    }
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

/// The arguments of an interpreter itself: those after its script belong to the script.
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

/// The words that are no options: also those behind `--` that look like one.
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

/// The position of git's subcommand, after the options before it and their values.
fn git_subcommand(arguments: &[Word]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = arguments.get(at).filter(|word| word.is_option()) {
        at += 1 + usize::from(remote::takes_next(&word.value));
    }
    (at < arguments.len()).then_some(at)
}

/// Options before git's subcommand that may name another repository, configuration or program.
fn git_before(arguments: &[Word]) -> Vec<Risk> {
    let before = arguments.iter().enumerate().take_while({
        let subcommand = git_subcommand(arguments).unwrap_or(arguments.len());
        move |(at, _)| *at < subcommand
    });
    before
        .filter(|(_, word)| !has(GIT_BEFORE_HARMLESS, &word.value))
        .map(|(_, word)| Risk::Whole(word.place.clone()))
        .collect()
}

/// Words of git that are code, that change what later commands run, or that name a program or an alias.
fn git_code(arguments: &[Word]) -> Vec<&Word> {
    let Some(at) = git_subcommand(arguments) else {
        return Vec::new();
    };
    let (subcommand, rest) = (&arguments[at], &arguments[at + 1..]);
    let name = subcommand.value.as_str();
    let mut code: Vec<&Word> = arguments
        .iter()
        .filter(|word| {
            word.value.contains("::") && !word.value.contains("://") && !word.value.contains(' ')
        })
        .collect();
    if !has(GIT_PLAIN, name) {
        code.push(subcommand);
    }
    // What an alias does with its words is not known.
    if has(GIT_RUNS_OTHERS, name) || !remote::is_git_command(name) {
        code.extend(rest);
    }
    if name == "config" && !only_reads_configuration(rest) {
        code.extend(rest);
    }
    // `a:b` pushes to another branch than the one named, `:b` deletes one and `+a` overwrites one.
    if name == "push" {
        let operands = operands(rest);
        code.extend(operands.first().filter(|word| may_be_a_folder(&word.value)));
        let references = operands.into_iter().skip(1);
        code.extend(
            references.filter(|word| word.value.contains(':') || word.value.starts_with('+')),
        );
    }
    code
}

/// Whether git may take `repository` for a folder: a push to one runs the hooks that lie in it.
fn may_be_a_folder(repository: &str) -> bool {
    let is_address = repository
        .split_once(':')
        .is_some_and(|(before, _)| !before.is_empty() && !before.contains('/') && before != "file");
    !is_address && !has(GIT_REMOTES, repository)
}

/// Whether `git config` with these words shows settings and changes none.
fn only_reads_configuration(rest: &[Word]) -> bool {
    let (options, operands): (Vec<&Word>, Vec<&Word>) =
        rest.iter().partition(|word| word.is_option());
    let option = |word: &Word| word.value.split('=').next().unwrap_or_default().to_owned();
    if !options
        .iter()
        .all(|word| has(GIT_CONFIG_OPTIONS, &option(word)))
    {
        return false;
    }
    let asks = options
        .iter()
        .any(|word| has(GIT_CONFIG_READS, &option(word)));
    match operands.split_first() {
        None => true,
        Some((verb, names)) if has(GIT_CONFIG_VERBS, &verb.value) => {
            matches!(verb.value.as_str(), "get" | "list") && (names.len() <= 1 || asks)
        }
        Some((_, values)) => asks || values.is_empty(),
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

//! Words of a command that name settings of a program: a wildcard must not choose what a later command starts.
//!
//! This reads only the text. A folder that is copied as a whole, an archive or a link brings settings without a name in
//! the text; the sandbox keeps those out of the home of commands (see `exec::home`).

use percent_encoding::percent_decode_str;

use super::options;
use super::plain;
use super::program_settings::{are_program_settings, hold_program_settings};
use super::tables::has;
use super::tables::programs::{ABOUT_TEXT, WRITERS};
use super::word::Word;

/// Harmless programs that do not read their operands but put them somewhere else.
const PUT: &str = "cp ln mv tee";

/// git's subcommands that do not write the work tree files they are given.
const GIT_READS: &str = "\
    add annotate blame cat-file check-attr check-ignore commit describe diff diff-files diff-index diff-tree grep \
    hash-object log ls-files ls-tree rev-list rev-parse rm shortlog show stage status whatchanged";

/// Returns the arguments of a command that name settings which it may write.
pub(super) fn named(words: &[Word]) -> Vec<&Word> {
    let Some((program, arguments)) = words.split_first() else {
        return Vec::new();
    };
    let name = plain::name(&program.value);
    if only_reads(name, arguments) {
        return Vec::new();
    }
    let named = arguments.iter().filter(|word| names_settings(&word.value));
    named.collect()
}

fn only_reads(name: &str, arguments: &[Word]) -> bool {
    match name {
        "git" => {
            let subcommand = arguments.iter().find(|word| !word.is_option());
            subcommand.is_some_and(|word| has(GIT_READS, &word.value))
        }
        name if has(PUT, name) || has(WRITERS, name) => false,
        name => {
            options::is_harmless(name)
                || has(ABOUT_TEXT, name)
                || matches!(name, "less" | "more" | "man" | "tree" | "file")
        }
    }
}

/// Returns whether a path in `text` leads to settings. Text before a sign that some programs put before a path does not
/// count. Programs that fetch an address name the file by its unescaped end.
fn names_settings(text: &str) -> bool {
    let unescaped = percent_decode_str(text).decode_utf8_lossy();
    paths_lead_to_settings(text) || *unescaped != *text && paths_lead_to_settings(&unescaped)
}

fn paths_lead_to_settings(text: &str) -> bool {
    text.split(['=', ':', ',', '@', ' ']).any(|path| {
        let glued = path.strip_prefix('-').and_then(|rest| {
            let begin = rest.find(['.', '/', '_'])?;
            rest.get(begin..)
        });
        is_settings(path) || glued.is_some_and(is_settings)
    })
}

fn is_settings(path: &str) -> bool {
    let path = path.to_lowercase();
    let names: Vec<&str> = path
        .split('/')
        .filter(|name| !matches!(*name, "" | "."))
        .collect();
    let leads_out = path.starts_with(['/', '~']) || names.contains(&"..");
    let of_program = if leads_out {
        hold_program_settings(&names)
    } else {
        are_program_settings(&names)
    };
    // Most files in a repository's own folder decide what git runs: `hooks`, `config`, `rebase-merge`, `modules`.
    of_program || names.contains(&".git")
}

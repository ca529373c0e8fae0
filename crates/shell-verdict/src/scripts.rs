//! Scripts for sed, awk and sqlite, and whether they only read.

use std::sync::LazyLock;

use regex::Regex;

use super::risk::operands;
use super::word::Word;

/// Returns the scripts given to sed, each with its word: the values of `-e`, or its first operand.
pub(super) fn sed_scripts(arguments: &[Word]) -> Vec<(&Word, &str)> {
    let mut scripts = Vec::new();
    let mut is_sure = true;
    for (index, word) in arguments
        .iter()
        .enumerate()
        .filter(|(_, word)| word.is_option())
    {
        let value = word.value.as_str();
        let next = arguments
            .get(index + 1)
            .map(|next| (next, next.value.as_str()));
        if let Some(long) = value.strip_prefix("--") {
            let (name, given) = match long.split_once('=') {
                Some((name, given)) => (name, Some((word, given))),
                None => (long, next),
            };
            if !name.is_empty() && "expression".starts_with(name) {
                scripts.extend(given);
            }
            continue;
        }
        // `-l` takes a value, which may contain an `e` that is not an option.
        is_sure &= !value.contains('l');
        if let Some((_, attached)) = value.split_once('e') {
            if attached.is_empty() {
                scripts.extend(next)
            } else {
                scripts.push((word, attached))
            }
        }
    }
    if scripts.is_empty() || !is_sure {
        let first = operands(arguments).into_iter().next();
        scripts.extend(first.map(|word| (word, word.value.as_str())));
    }
    scripts
}

/// Returns whether a sed script only prints, deletes, stops and replaces.
pub(super) fn is_harmless_sed(script: &str) -> bool {
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

/// Returns whether a sed script may have a replacement with the flag `e`, which runs its result. Any character except a
/// line feed and a backslash may be its delimiter (`sxaxidxe`), and a script with too many places to check counts as
/// one.
pub(super) fn sed_runs_what_it_makes(script: &str) -> bool {
    const MOST_PLACES: usize = 200;
    let mut places = script.match_indices('s').map(|(at, _)| &script[at + 1..]);
    places.by_ref().take(MOST_PLACES).any(flags_run) || places.next().is_some()
}

/// Returns whether the text after an `s` is a replacement with the flag `e`.
fn flags_run(behind: &str) -> bool {
    let mut rest = behind.chars();
    let Some(mark) = rest.next().filter(|mark| !matches!(mark, '\n' | '\\')) else {
        return false;
    };
    // After the pattern and after its replacement.
    for _ in 0..2 {
        let mut is_escaped = false;
        if !rest.any(|c| {
            let is_mark = c == mark && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_mark
        }) {
            return false;
        }
    }
    // A file name follows `w`.
    rest.take_while(|flag| flag.is_ascii_alphanumeric() && *flag != 'w' || *flag == ' ')
        .any(|flag| flag == 'e')
}

/// Returns whether an argument of awk neither starts a program nor writes a file.
pub(super) fn is_harmless_awk(argument: &str) -> bool {
    ![
        "system",
        "getline",
        "|",
        ">",
        "@",
        "print -",
        "close(",
        "fflush",
        "ENVIRON",
        "-f",
        "extension",
    ]
    .iter()
    .any(|sign| argument.contains(sign))
}

/// Returns whether it only selects: the shell of sqlite has functions that write files and start an editor.
pub(super) fn is_harmless_sql(sql: &str) -> bool {
    let lower = sql.trim_start().to_ascii_lowercase();
    lower.starts_with("select ")
        && ![
            "edit",
            "writefile",
            "load_extension",
            "readfile",
            "fts3_tokenizer",
            ";",
        ]
        .iter()
        .any(|word| lower.trim_end_matches(';').contains(word))
}

//! Programs that run a text: shells, interpreters with their code, `awk`, `sed` and what bash evaluates.

use std::sync::LazyLock;

use regex::Regex;

use super::Inner;
use super::programs;
use crate::permission::shell::risk;
use crate::permission::shell::tree::Input;
use crate::permission::shell::word::Word;

pub(in crate::permission::shell) fn shell(
    arguments: &[Word],
    input: &Input,
    found: &mut Vec<Inner>,
) {
    let takes_text = |word: &&Word| match word.value.strip_prefix("--") {
        Some(long) => long.starts_with("com") || long.starts_with("init-c"),
        None => word.is_option() && word.value.contains(['c', 'C']),
    };
    if arguments.iter().any(|word| takes_text(&word)) {
        for word in arguments {
            let attached = word.value.split_once('=').map(|(_, script)| script);
            found.push(match word.known() {
                Some(_) if word.is_option() => match attached {
                    Some(script) => Inner::Script(script.to_owned()),
                    None => continue,
                },
                Some(script) => Inner::Script(script.to_owned()),
                None => {
                    Inner::Unseen("a shell is given commands known only when it runs".to_owned())
                }
            });
        }
        return;
    }
    let file = arguments
        .iter()
        .find(|word| !word.is_option() || word.varies);
    let reads_input = match file {
        Some(file) => {
            file.varies || file.value.starts_with("/dev/") || file.value.starts_with("/proc/")
        }
        None => true,
    };
    if !reads_input && !arguments.iter().any(|word| word.value == "-s") {
        return;
    }
    match input {
        Input::Text(script) => found.push(Inner::Script(script.clone())),
        Input::Unknown => found.push(Inner::Unseen(
            "a shell reads commands known only when it runs".to_owned(),
        )),
        Input::Nothing if file.is_some_and(|file| file.varies) => {
            found.push(Inner::Unseen(
                "a shell is given commands known only when it runs".to_owned(),
            ));
        }
        Input::Nothing => {}
    }
}

pub(super) fn evaluated(arguments: &[Word], found: &mut Vec<Inner>) {
    let known: Option<Vec<&str>> = arguments.iter().map(Word::known).collect();
    found.push(match known {
        Some(words) => Inner::Script(words.join(" ")),
        None => Inner::Unseen("it evaluates what is known only when it runs".to_owned()),
    });
}

pub(super) fn code(options: &[&str], arguments: &[Word], input: &Input, found: &mut Vec<Inner>) {
    let is_code = |word: &Word| {
        options.iter().any(|option| {
            word.value == *option
                || (word.value.starts_with(option)
                    && !option.starts_with("--")
                    && option.len() == 2)
                || (word.is_option()
                    && !word.value.starts_with("--")
                    && option.len() == 2
                    && word.value.contains(&option[1..]))
        })
    };
    let mut inline = arguments
        .iter()
        .skip_while(|word| !is_code(word))
        .peekable();
    if inline.peek().is_some() {
        let hides = inline.any(|word| word.varies || programs::spawns(&word.value));
        if hides {
            found.push(Inner::Unseen(
                "its code starts programs or hides what it does".to_owned(),
            ));
        }
        return;
    }
    let has_file = arguments
        .iter()
        .any(|word| !word.is_option() && word.value != "-");
    match input {
        _ if has_file => {}
        Input::Nothing => {}
        Input::Text(code) if !programs::spawns(code) => {}
        Input::Text(_) | Input::Unknown => {
            found.push(Inner::Unseen(
                "an interpreter reads code that cannot be judged".to_owned(),
            ));
        }
    }
}

pub(super) fn awk(arguments: &[Word], found: &mut Vec<Inner>) {
    let starts = arguments.iter().any(|word| {
        word.varies && word.rewritten.is_none()
            || ["system", "getline", "|"]
                .iter()
                .any(|sign| word.value.contains(sign))
    });
    if starts {
        found.push(Inner::Unseen("its code may start programs".to_owned()));
    }
}

/// Texts in which bash runs `$(…)`, though they are quoted.
pub(super) fn evaluator(arguments: &[Word], found: &mut Vec<Inner>) {
    for word in arguments.iter().filter_map(Word::known) {
        if word.contains("$(") || word.contains('`') || word.contains("<(") {
            found.push(Inner::Script(word.to_owned()));
        }
    }
}

/// sed's command `e` runs a command, and a replacement with the flag `e` runs what it makes.
pub(super) fn sed(arguments: &[Word], found: &mut Vec<Inner>) {
    static RUNS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?m)(?:^|[;{}0-9$/!,~+\s])e[ \t]*(?P<command>[^\s/;}].*)$").ok()
    });
    static RUNS_WHAT_IT_READS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?m)(?:^|[;{}0-9$/!,~+\s])e\s*(?:$|[;}])|s[^\w\s].*[^\w\s][gpiIMm0-9]*e[gpiIMm0-9w]*\s*(?:$|[;}])")
            .ok()
    });
    let scripts = risk::sed_scripts(arguments).into_iter();
    for (_, script) in scripts.filter(|(_, script)| !risk::is_harmless_sed(script)) {
        let runs = RUNS.as_ref().and_then(|runs| runs.captures(script));
        if let Some(command) = runs.and_then(|runs| runs.name("command")) {
            found.push(Inner::Script(command.as_str().to_owned()));
        } else if RUNS_WHAT_IT_READS
            .as_ref()
            .is_some_and(|runs| runs.is_match(script))
        {
            found.push(Inner::Unseen("sed runs what it reads".to_owned()));
        }
    }
}

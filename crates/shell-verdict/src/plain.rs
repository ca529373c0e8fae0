//! The plain forms of a command: a deny must match however the command is spelled.
//!
//! `/usr/bin/gh -R a/b "pr" create` is `gh pr create`. Commands of `git`, `gh`, `glab`, `hub` and `doctl` that change
//! something elsewhere have one more form, with a mark: `gh [write] pr create`. A command that is not known to read
//! counts as a write.

use super::remote;
use super::word::Word;

/// Most letters of short options that are put into every order.
const MAX_ORDERED: usize = 3;

/// Returns all plain forms of the command that `words` spell.
pub(super) fn forms(words: &[Word]) -> Vec<String> {
    let Some((program, arguments)) = words.split_first() else {
        return Vec::new();
    };
    let values: Vec<&str> = arguments.iter().map(|word| word.value.as_str()).collect();
    let name = name(&program.value);
    let mut forms = vec![joined(&program.value, &values), joined(name, &values)];
    if let Some(subcommand) = name.strip_prefix("git-") {
        let mut git = vec![Word::fixed("git"), Word::fixed(subcommand)];
        git.extend_from_slice(arguments);
        forms.extend(self::forms(&git));
    }
    let operands: Vec<&str> = values
        .iter()
        .copied()
        .filter(|value| !value.starts_with('-'))
        .collect();
    forms.push(joined(name, &operands));
    forms.extend(reordered(name, &values));
    forms.extend(remote::forms(name, arguments));
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// Returns the name of a program, without the folder it was called from.
pub(super) fn name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn joined(name: &str, words: &[&str]) -> String {
    let mut text = name.to_owned();
    for word in words {
        text.push(' ');
        text.push_str(word);
    }
    text
}

/// Returns `rm -r --force x` also as `rm -rf x` and `rm -fr x`: leading short options in every order, in one word and
/// apart.
fn reordered(name: &str, values: &[&str]) -> Vec<String> {
    let mut letters: Vec<char> = Vec::new();
    let mut rest: Vec<&str> = Vec::new();
    for value in values {
        let short = match *value {
            "--recursive" => "r",
            "--force" => "f",
            "--delete" => "d",
            "--all" => "a",
            value if value.starts_with("--") => "",
            value => value.strip_prefix('-').unwrap_or_default(),
        };
        if !short.is_empty() && short.chars().all(|c| c.is_ascii_alphabetic()) {
            letters.extend(short.chars())
        } else {
            rest.push(value)
        }
    }
    if letters.contains(&'R') && name == "rm" {
        letters
            .iter_mut()
            .filter(|c| **c == 'R')
            .for_each(|c| *c = 'r');
    }
    letters.sort_unstable();
    letters.dedup();
    if letters.is_empty() || letters.len() > MAX_ORDERED {
        return Vec::new();
    }
    let mut forms = Vec::new();
    for order in orders(&letters) {
        let together = format!("-{}", order.iter().collect::<String>());
        let apart = order
            .iter()
            .map(|c| format!("-{c}"))
            .collect::<Vec<_>>()
            .join(" ");
        for options in [together, apart] {
            forms.push(joined(&format!("{name} {options}"), &rest));
        }
    }
    forms
}

fn orders(letters: &[char]) -> Vec<Vec<char>> {
    if letters.len() <= 1 {
        return vec![letters.to_vec()];
    }
    let mut all = Vec::new();
    for (index, first) in letters.iter().enumerate() {
        let mut others = letters.to_vec();
        others.remove(index);
        for mut order in orders(&others) {
            order.insert(0, *first);
            all.push(order);
        }
    }
    all
}

//! Commands that change something elsewhere: a forge, a cloud, a git remote.

use super::tables::elsewhere::*;
use super::tables::has;
use super::word::Word;

/// Returns whether git itself has this subcommand: any other is an alias or a program `git-<name>`.
pub(super) fn is_git_command(name: &str) -> bool {
    has(GIT_LOCAL, name) || has(GIT_OTHER, name)
}

/// Returns whether an option before git's subcommand takes the next word.
pub(super) fn takes_next(option: &str) -> bool {
    has(GIT_VALUED, option)
}

/// Returns whether a forge's client itself has this command: any other is an alias or an extension.
pub(super) fn is_forge_command(name: &str) -> bool {
    has(FORGE_NOUNS, name)
        || has(FORGE_PLAIN, name)
        || matches!(name, "" | "api" | "auth" | "search")
}

/// Returns the forms of a command of one of the programs in this file; empty for any other.
pub(super) fn forms(name: &str, arguments: &[Word]) -> Vec<String> {
    match name {
        "git" => git(arguments),
        "gh" | "hub" | "glab" => forge(name, arguments),
        "doctl" => doctl(arguments),
        "curl" | "wget" | "http" | "https" | "xh" | "xhs" => request(name, arguments),
        _ => Vec::new(),
    }
}

/// Returns whether these words, when run, certainly change something elsewhere: unknown subcommands do not count.
pub(super) fn surely_writes(words: &[Word]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let name = program.value.rsplit('/').next().unwrap_or_default();
    let writes = || {
        forms(name, arguments)
            .iter()
            .any(|form| form.contains(" [write] "))
    };
    let operands: Vec<&str> = arguments
        .iter()
        .map(|word| word.value.as_str())
        .filter(|value| !value.starts_with('-'))
        .collect();
    match (name, operands.as_slice()) {
        ("git", [first, ..]) => {
            writes()
                && GIT_SENDS.split_whitespace().any(|push| {
                    operands.contains(&push) && (*first == push || arguments[0].is_option())
                })
        }
        ("gh" | "glab" | "hub", [noun, verb, ..]) => {
            let is_verb = verb
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'-');
            (*noun == "api" || has(FORGE_NOUNS, noun) && is_verb) && writes()
        }
        ("doctl", [noun, ..]) => {
            has(DOCTL_NOUNS, noun)
                && operands.iter().any(|word| has(DOCTL_WRITES, word))
                && writes()
        }
        _ => false,
    }
}

fn text(words: &[&Word]) -> String {
    words
        .iter()
        .map(|word| word.value.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

fn git(arguments: &[Word]) -> Vec<String> {
    let mut rest: Vec<&Word> = arguments.iter().collect();
    let mut forms = Vec::new();
    let mut renames = false;
    while let Some(first) = rest
        .first()
        .filter(|word| word.is_option() && !has(GIT_LOCAL, &word.value))
    {
        let takes_next = has(GIT_VALUED, &first.value);
        let value = rest
            .get(1)
            .filter(|_| takes_next)
            .map_or(first.value.as_str(), |word| word.value.as_str());
        renames |= value.to_ascii_lowercase().contains("alias.")
            || (first.value.starts_with("--config-env") || first.value.starts_with("--exec-path="))
            || (first.value == "-c" && rest.get(1).is_some_and(|word| word.varies));
        rest.drain(..rest.len().min(1 + usize::from(takes_next)));
    }
    let Some(subcommand) = rest.first() else {
        return forms;
    };
    forms.push(format!("git {}", text(&rest)));
    let operands: Vec<&Word> = rest
        .iter()
        .copied()
        .filter(|word| !word.is_option())
        .collect();
    forms.push(format!("git {}", text(&operands)));
    let reads = !subcommand.varies && !renames && has(GIT_LOCAL, &subcommand.value);
    let pushes_inside = match subcommand.value.as_str() {
        "subtree" | "lfs" | "svn" | "p4" => true,
        "remote" | "submodule" | "bundle" => false,
        "imap-send" | "send-email" => true,
        _ => false,
    };
    if !reads || pushes_inside {
        forms.push(format!("git [write] {}", text(&rest)));
    }
    forms
}

fn forge(name: &str, arguments: &[Word]) -> Vec<String> {
    let mut rest: Vec<&Word> = Vec::new();
    let mut words = arguments.iter().peekable();
    while let Some(word) = words.next() {
        match word.value.as_str() {
            // These select the repository, not the action.
            "-R" | "--repo" | "--hostname" | "-g" | "--group" => {
                words.next();
            }
            value
                if value.starts_with("-R")
                    || value.starts_with("--repo=")
                    || value.starts_with("--hostname=") => {}
            _ => rest.push(word),
        }
    }
    let Some(noun) = rest.first() else {
        return Vec::new();
    };
    if noun.value == "api" && !noun.varies {
        return api(name, &rest[1..]);
    }
    let mut forms = vec![format!("{name} {}", text(&rest))];
    let verb = rest.get(1);
    let reads = match verb {
        _ if noun.varies => false,
        _ if has(FORGE_PLAIN, &noun.value) => true,
        _ if noun.value == "search" => true,
        Some(verb) if noun.value == "auth" => !verb.varies && verb.value == "status",
        Some(verb) => {
            has(FORGE_NOUNS, &noun.value)
                && !verb.varies
                && (has(FORGE_READS, &verb.value) || matches!(verb.value.as_str(), "--help" | "-h"))
        }
        None => has(FORGE_NOUNS, &noun.value),
    };
    // `gh browse` opens a page, `gh repo clone` and `gh pr checkout` change only the workspace.
    if !reads {
        forms.push(format!("{name} [write] {}", text(&rest)));
    }
    forms
}

/// Returns the forms of `gh api`: its method decides, and a field makes it a POST.
fn api(name: &str, arguments: &[&Word]) -> Vec<String> {
    let mut method: Option<String> = None;
    let mut has_fields = false;
    let mut is_known = true;
    let mut rest: Vec<&Word> = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        is_known &=
            !word.varies || word.value.starts_with("repos/") || word.value.starts_with("/repos/");
        let value = word.value.as_str();
        if let Some(long) = value.strip_prefix("--") {
            let (option, given) = match long.split_once('=') {
                Some((option, given)) => (option, Some(given.to_owned())),
                None => (long, None),
            };
            match option {
                "method" => {
                    let next = given.or_else(|| words.next().map(|word| word.value.clone()));
                    method = next.or(Some(String::new()));
                }
                "field" | "raw-field" | "input" | "form" => has_fields = true,
                _ => rest.push(word),
            }
            continue;
        }
        let Some(cluster) = value
            .strip_prefix('-')
            .filter(|cluster| !cluster.is_empty())
        else {
            rest.push(word);
            continue;
        };
        for (index, letter) in cluster.char_indices() {
            match letter {
                'i' => {}
                'X' => {
                    let given = cluster[index + 1..].trim_start_matches('=').to_owned();
                    method = if given.is_empty() {
                        words
                            .next()
                            .map(|word| word.value.clone())
                            .or(Some(String::new()))
                    } else {
                        Some(given)
                    };
                    break;
                }
                'f' | 'F' => {
                    has_fields = true;
                    break;
                }
                _ => break,
            }
        }
    }
    let method = method
        .unwrap_or_else(|| if has_fields { "POST" } else { "GET" }.to_owned())
        .to_ascii_uppercase();
    let reads = is_known && matches!(method.as_str(), "GET" | "HEAD");
    let mark = if reads { "" } else { "[write] " };
    let mut forms = vec![format!("{name} api --method {method} {}", text(&rest))];
    if !reads {
        forms.push(format!(
            "{name} {mark}api --method {method} {}",
            text(&rest)
        ));
    }
    forms
}

fn doctl(arguments: &[Word]) -> Vec<String> {
    let mut rest: Vec<&Word> = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if has(DOCTL_VALUED, &word.value) {
            words.next();
        } else if !word.is_option() || matches!(word.value.as_str(), "--help" | "--version" | "-h")
        {
            rest.push(word);
        }
    }
    let Some(first) = rest.first() else {
        return Vec::new();
    };
    let mut forms = vec![format!("doctl {}", text(&rest))];
    let asks_for_help = rest
        .iter()
        .any(|word| matches!(word.value.as_str(), "--help" | "-h"));
    let nouns = rest
        .iter()
        .take_while(|word| !word.varies && has(DOCTL_NOUNS, &word.value))
        .count();
    let verb = rest.get(nouns);
    let reads = matches!(
        first.value.as_str(),
        "version" | "help" | "completion" | "--version" | "--help"
    ) || asks_for_help
        || match verb {
            Some(verb) => nouns > 0 && !verb.varies && has(DOCTL_READS, &verb.value),
            None => nouns > 0,
        };
    if !reads {
        forms.push(format!("doctl [write] {}", text(&rest)));
    }
    forms
}

/// Returns the forms of a bare HTTP client that writes to the API of a forge or of the cloud.
fn request(name: &str, arguments: &[Word]) -> Vec<String> {
    let target = arguments.iter().find(|word| reaches_an_api(&word.value));
    // A file of options, or a host that is known only at run time, may be any of them.
    let hides = arguments.iter().enumerate().any(|(index, word)| {
        let is_config = word.value == "-K"
            || "--config".starts_with(word.value.as_str()) && word.value.len() > 4;
        is_config && arguments.get(index + 1).is_some()
            || word.value.starts_with("-K") && word.value.len() > 2
            || word.value.starts_with("--config=")
    });
    match target {
        Some(word) if writes(name, arguments) || hides => {
            vec![format!("curl [write] {}", word.value)]
        }
        None if hides && name == "curl" => vec!["curl [write] a file of options".to_owned()],
        _ => Vec::new(),
    }
}

/// Returns whether the URL leads to such an API, also with capitals and with patterns that `curl` expands.
fn reaches_an_api(url: &str) -> bool {
    let lower = url.to_lowercase().replace("%2e", ".").replace("%2f", "/");
    if API_ADDRESSES
        .split_whitespace()
        .any(|part| lower.contains(part))
    {
        return true;
    }
    let Some((_, rest)) = lower.split_once("://") else {
        return false;
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // `api.git{hub,x}.com`, `api.github%2ecom`, full-width letters.
    !host.is_ascii() || host.contains(['{', '%']) || (host.contains('[') && !host.starts_with('['))
}

/// Returns whether the request sends something, or uses another method than GET and HEAD.
fn writes(name: &str, arguments: &[Word]) -> bool {
    let is_httpie = matches!(name, "http" | "https" | "xh" | "xhs");
    let is_method = |value: &str| {
        let upper = value.to_ascii_uppercase();
        ["POST", "PUT", "PATCH", "DELETE"]
            .iter()
            .any(|method| upper.ends_with(method))
    };
    arguments.iter().enumerate().any(|(index, word)| {
        let value = word.value.as_str();
        let next = arguments.get(index + 1);
        let given = match value.split_once('=') {
            Some((_, given)) if value.starts_with("--") => Some(given),
            _ => next.map(|next| next.value.as_str()),
        };
        let asks = |option: &str| {
            value.len() > 4 && option.starts_with(value.split('=').next().unwrap_or(value))
        };
        let other_method = (value.ends_with('X') && word.is_option() && !value.starts_with("--")
            || value.starts_with("--") && (asks("--request") || asks("--method")))
            && (!matches!(given, Some("GET" | "HEAD" | "get" | "head"))
                || next.is_some_and(|next| next.varies));
        let is_short = word.is_option() && !value.starts_with("--");
        is_method(value)
            || other_method
            || is_short
                && !is_httpie
                && value.contains(['d', 'F', 'T'])
                && value[1..]
                    .chars()
                    .take_while(|c| !"wAeHumoXxbcKrzC".contains(*c))
                    .any(|c| "dFT".contains(c))
            || HTTP_SENDS.split_whitespace().any(|option| {
                value.starts_with(option)
                    || value.len() > 4 && value.starts_with("--") && option.starts_with(value)
            })
            || is_httpie
                && index > 0
                && !word.is_option()
                && !value.contains("==")
                && value.contains('=')
    })
}

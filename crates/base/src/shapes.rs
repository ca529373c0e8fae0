//! Tokens of any owner that are recognised by their shape.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// Replaces a secret.
pub const PLACEHOLDER: &str = "[redacted]";

/// The shapes. The groups `k1` to `k5` stay in the text: they show what was masked.
const SHAPES: [&str; 20] = [
    // Private keys, whole.
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)",
    // Discord: bot tokens, webhooks.
    r"\b[A-Za-z0-9_-]{23,28}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,45}\b",
    r"\bmfa\.[A-Za-z0-9_-]{80,}",
    r"(?<k1>discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]+/)[A-Za-z0-9_-]{40,}",
    // Anthropic, OpenAI and others with the same form.
    r"\bsk-(?:ant-|proj-|or-|svcacct-)?[A-Za-z0-9_-]{16,}",
    r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}",
    // GitHub, GitLab, npm, PyPI, Hugging Face, DigitalOcean.
    r"\bgh[pousr]_[A-Za-z0-9]{16,}",
    r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"\bgl(?:pat|ptt|dt|rt|soat|cbt|ft)-[A-Za-z0-9_.-]{16,}",
    r"\bnpm_[A-Za-z0-9]{20,}",
    r"\bpypi-[A-Za-z0-9_-]{16,}",
    r"\bhf_[A-Za-z0-9]{20,}",
    r"\bdo[oprt]_v1_[a-f0-9]{32,}",
    // Amazon, Google, Slack.
    r"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b",
    r"\bAIza[0-9A-Za-z_-]{30,}",
    r"\bxox[abeprs]-[A-Za-z0-9-]{10,}|\bxapp-[A-Za-z0-9-]{10,}",
    // JSON web tokens.
    r"\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*",
    // After a word that announces a secret.
    r"(?<k2>(?i:\b(?:bearer|basic)[ \t]+))[A-Za-z0-9._~+/=-]{16,}",
    r"(?<k3>[A-Za-z][A-Za-z0-9+.-]*://[^\s:@/]*:)[^\s:@/]{3,}(?<k4>@)",
    r#"(?<k5>\b[A-Z0-9_]*(?:API_?KEY|SECRET|TOKEN|PASSWORD|PASSWD|PRIVATE_KEY)[A-Z0-9_]*["']?[ \t]*[=:][ \t]*["']?)[A-Za-z0-9+/=_.-]{16,}"#,
];

/// Word boundaries are those of ASCII. With Unicode's rule a token after a letter of another script (`密钥sk-…`) would
/// begin within a word and stay. Each text with such letters would also take a hundred times as long.
static TOKENS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&SHAPES.join("|").replace(r"\b", r"(?-u:\b)")).ok());

/// Masks every token of a known shape in `text`.
pub(super) fn mask(text: &str) -> Cow<'_, str> {
    match &*TOKENS {
        Some(tokens) => tokens.replace_all(
            text,
            format!("${{k1}}${{k2}}${{k3}}${{k5}}{PLACEHOLDER}${{k4}}"),
        ),
        None => Cow::Borrowed(text),
    }
}

/// Returns the tokens of a known shape in `text`.
pub(super) fn find(text: &str) -> impl Iterator<Item = regex::Match<'_>> {
    TOKENS.iter().flat_map(|tokens| tokens.find_iter(text))
}

/// Returns the beginning of a part of `text` that may still become a token, although white space has followed.
pub(super) fn unfinished(text: &str) -> Option<usize> {
    let key = text
        .rfind("-----BEGIN ")
        .filter(|start| !text[*start..].contains("-----END "));
    let last_line = text.rfind('\n').map_or(0, |end| end + 1);
    let lower = text[last_line..].to_ascii_lowercase();
    // A word that announces a token, and at most one word after it.
    let announced = ["bearer", "basic", "key", "secret", "token", "passw"]
        .iter()
        .filter_map(|word| lower.rfind(word))
        .filter(|start| lower[*start..].split_whitespace().count() <= 3)
        .min()
        .map(|start| last_line + word_start(&text[last_line..], start));
    match (key, announced) {
        (Some(key), Some(announced)) => Some(key.min(announced)),
        (key, announced) => key.or(announced),
    }
}

fn word_start(line: &str, at: usize) -> usize {
    line[..at].rfind(char::is_whitespace).map_or(0, |blank| {
        blank + line[blank..].chars().next().map_or(1, char::len_utf8)
    })
}

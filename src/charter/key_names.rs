//! The keys of front matter: ours, those of other programs, and those about tools or rights in any spelling.

/// The meaning of a key here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyName {
    /// One of our keys, by its own name.
    Ours(&'static str),
    /// Another program's name for one of ours.
    Alias(&'static str),
    /// Another program's key without a meaning here: a file grants nothing.
    Foreign,
    /// A switch that removes all tools that change something.
    ReadOnly,
    /// A switch that turns the whole file off.
    Off,
    /// OpenCode's map from kinds of tools to `allow`, `ask` and `deny`.
    Permission,
    /// Unknown, and about tools or rights: without it a role could do more than intended.
    Rights,
    Unknown,
}

/// Keys with a meaning here.
pub(super) const KEYS: &[&str] = &[
    "name",
    "description",
    "model",
    "fallback_models",
    "effort",
    "mode",
    "sections",
    "tools",
    "disallowedTools",
    "exclude_tools",
    "permissions",
    "permissionMode",
    "max_steps",
    "maxTurns",
    "timeout",
    "budget_usd",
    "max_tokens",
    "sub_agents",
    "advisors",
    "router",
    "handoff",
    "report",
    "seed",
    "docs",
    "skills",
    "compaction",
    "tool_errors",
    "background",
    "disable-model-invocation",
    "user-invocable",
];

/// Names of other programs, in lower case without separators.
const ALIASES: &[(&str, &str)] = &[
    ("allowedtools", "tools"),
    ("enabledtools", "tools"),
    ("deniedtools", "disallowedTools"),
    ("disabledtools", "disallowedTools"),
    ("excludedtools", "disallowedTools"),
    ("forbiddentools", "disallowedTools"),
    ("blockedtools", "disallowedTools"),
    ("approvalmode", "permissionMode"),
    ("reasoningeffort", "effort"),
    ("subagents", "sub_agents"),
    ("agents", "sub_agents"),
    ("isbackground", "background"),
];

/// Keys of other programs without a meaning here, in the same form.
const FOREIGN: &[&str] = &[
    "color",
    "hooks",
    "memory",
    "isolation",
    "mcpservers",
    "target",
    "metadata",
    "infer",
    "handoffs",
    "license",
    "initialprompt",
    "argumenthint",
    "version",
    "author",
    "tags",
    "temperature",
    "topp",
    "kind",
    "displayname",
    "icon",
];

/// Words that make a key one about tools or rights.
const RIGHTS: &[&str] = &[
    "access", "allow", "allows", "approve", "approved", "bash", "block", "blocked", "can",
    "commands", "deny", "denies", "edit", "exclude", "excluded", "execute", "exec", "forbid",
    "groups", "network", "only", "permit", "permits", "policies", "policy", "read", "rights",
    "scope", "scopes", "shell", "trust", "trusted", "write", "writes",
];

/// Words that also do so inside a word, however the key is written.
const RIGHTS_WITHIN: &[&str] = &[
    "allowed",
    "allowlist",
    "approval",
    "blacklist",
    "capabilit",
    "denied",
    "denylist",
    "disallow",
    "forbidden",
    "permission",
    "privilege",
    "readonly",
    "restrict",
    "sandbox",
    "tool",
    "whitelist",
    "writable",
];

/// Returns the meaning of `written`; case and separators do not count.
pub(super) fn key_name(written: &str) -> KeyName {
    let plain = plain(written);
    if let Some(key) = KEYS.iter().find(|key| **key == written) {
        return KeyName::Ours(key);
    }
    if let Some(key) = KEYS.iter().find(|key| self::plain(key) == plain) {
        return KeyName::Ours(key);
    }
    if let Some((_, key)) = ALIASES.iter().find(|(name, _)| *name == plain) {
        return KeyName::Alias(key);
    }
    match plain.as_str() {
        "readonly" => KeyName::ReadOnly,
        "disable" | "disabled" => KeyName::Off,
        "permission" => KeyName::Permission,
        name if FOREIGN.contains(&name) => KeyName::Foreign,
        name if speaks_of_rights(written, name) => KeyName::Rights,
        _ => KeyName::Unknown,
    }
}

/// Returns whether a line that begins with `written` and a colon begins an entry, if the whole text is not YAML.
pub(super) fn is_key(written: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    written.chars().all(is_word) && !written.is_empty() && key_name(written) != KeyName::Unknown
}

/// Returns the text in lower case, without separators.
pub(super) fn plain(written: &str) -> String {
    let letters = written.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

fn speaks_of_rights(written: &str, plain: &str) -> bool {
    let mut words = String::new();
    let mut before = 'A';
    for c in written.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            words.push(' ');
        }
        words.extend(if c.is_alphanumeric() {
            c.to_lowercase().collect()
        } else {
            vec![' ']
        });
        before = c;
    }
    words.split(' ').any(|word| RIGHTS.contains(&word))
        || RIGHTS_WITHIN.iter().any(|part| plain.contains(part))
}

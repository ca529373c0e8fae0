//! One pattern of a profile: a bounded regular expression that must match a whole action.

use std::sync::OnceLock;

use fancy_regex::{Regex, RegexBuilder};
use regex_syntax::hir::literal::{Extractor, Seq};

use super::effort::{Backtracks, Effort};
use super::spelled;

/// Longest pattern in bytes: no one writes a longer one by hand, and a compiler's work grows with it.
const MAX_LENGTH: usize = 2000;

/// Most bytes of one compiled part; stops `(a{1000}){1000}` within a millisecond or two.
const COMPILED_BYTES: usize = 256 * 1024;

/// Most instructions of the backtracking engine.
const MAX_PROGRAM: usize = 20_000;

/// Most backtracks of a match. Beyond that the action is denied.
const BACKTRACK_LIMIT: usize = 50_000;

/// Tools with a detail that is a shell command.
pub(super) const SHELL_TOOLS: [&str; 3] = ["bash", "run_concurrent", "run_background"];

/// Details that no pattern matches unless it is meant to match everything a tool can do.
const PROBES: [&str; 4] = [
    "",
    "zq7 --zq7=/zq7/../zq7 'zq7' \"zq7\" \\zq7",
    "ZQ7; zq7 | zq7 && zq7 & $(zq7) `zq7` ${zq7} <zq7 >zq7 * ? [z] {z,q} ~ # ! @ % ^ , . : + 0 9",
    "zq7\r\n\t\u{202E}\u{200B}\u{434}\u{3000}\0",
];

#[derive(Debug)]
pub(super) struct Pattern {
    source: String,
    whole: Regex,
    /// A second engine, for patterns without look-around or back-references: both must find the match.
    plain: Option<regex::Regex>,
    /// The texts at the beginning of every match; `None` if these are not known.
    beginnings: Option<Vec<Vec<u8>>>,
    /// Matches a marked text if the pattern spells the marked letters; created at its first use.
    spelled: OnceLock<Option<regex::Regex>>,
    /// How much of the shell tools it covers, in the order of [`SHELL_TOOLS`].
    of_shell: OnceLock<[PatternScope; SHELL_TOOLS.len()]>,
}

/// How much of a tool's actions a pattern of `allow` covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternScope {
    /// Everything: an operator's choice that no doubt narrows.
    Everything,
    /// Everything except the part that the pattern itself excludes, so that exclusions must apply to every spelling of
    /// the action.
    AllBut,
    /// Only the text it spells.
    Narrow,
}

/// The engine gave up on a match.
#[derive(Debug)]
pub(super) struct GaveUp;

impl Pattern {
    /// Compiles `source`.
    ///
    /// # Errors
    ///
    /// Fails if it is too long, too large once compiled, or not a regular expression.
    pub(super) fn compile(source: &str) -> Result<Self, PatternError> {
        if source.len() > MAX_LENGTH {
            return Err(PatternError::TooLong(source.len()));
        }
        if let Some(reason) = refused_by_us(source) {
            return Err(PatternError::Malformed(reason));
        }
        // First without a group: `a)|(b` is not a pattern, but would be one inside our group.
        build(source)?;
        let anchored = format!(r"\A(?s:(?:{source}))\z");
        let plain = regex::RegexBuilder::new(&anchored)
            .size_limit(COMPILED_BYTES)
            .build()
            .ok();
        Ok(Self {
            source: source.to_owned(),
            whole: build(&anchored)?,
            beginnings: plain.as_ref().and_then(|_| beginnings(&anchored)),
            plain,
            spelled: OnceLock::new(),
            of_shell: OnceLock::new(),
        })
    }

    /// Returns whether it uses syntax that excludes something.
    pub(super) fn excludes(&self) -> bool {
        const SIGNS: [&str; 9] = [
            "(?!", "(?<!", "(?=", "(?<=", "[^", "\\S", "\\W", "\\D", "(?(",
        ];
        SIGNS.iter().any(|sign| self.source.contains(sign))
    }

    /// Returns the pattern as written.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// Returns whether the whole of `text` matches.
    ///
    /// # Errors
    ///
    /// Fails if the engine gives up or the second one disagrees; callers deny.
    pub(super) fn matches(&self, text: &str) -> Result<bool, GaveUp> {
        let found = self.whole.is_match(text).map_err(|_| GaveUp)?;
        match &self.plain {
            Some(plain) if plain.is_match(text) != found => Err(GaveUp),
            Some(_) | None => Ok(found),
        }
    }

    /// Returns whether the whole of `text` matches, as far as `effort` is left.
    ///
    /// # Errors
    ///
    /// Fails like [`Pattern::matches`], and if no effort is left.
    pub(super) fn matches_within(&self, text: &str, effort: &Effort) -> Result<bool, GaveUp> {
        if !self.may_match(text) {
            return Ok(false);
        }
        if !effort.may_match(text.len(), self.backtracks()) {
            return Err(GaveUp);
        }
        self.matches(text)
    }

    /// Returns whether `text` begins as every match does.
    fn may_match(&self, text: &str) -> bool {
        let begins = |beginning: &Vec<u8>| text.as_bytes().starts_with(beginning);
        self.beginnings
            .as_ref()
            .is_none_or(|beginnings| beginnings.iter().any(begins))
    }

    /// Returns whether its engine may try a text in many ways.
    pub(super) fn backtracks(&self) -> Backtracks {
        match self.plain {
            Some(_) => Backtracks::Never,
            None => Backtracks::Perhaps,
        }
    }

    /// Returns the expression that matches a text with marked letters if this pattern spells these ([`spelled`]).
    pub(super) fn spelled(&self) -> Option<&regex::Regex> {
        let made = self.spelled.get_or_init(|| {
            self.plain.as_ref()?;
            spelled::expression(&self.source)
        });
        made.as_ref()
    }

    /// Returns how much of the actions of `tool` this pattern covers.
    pub(super) fn scope(&self, tool: &str) -> PatternScope {
        let known = self
            .of_shell
            .get_or_init(|| SHELL_TOOLS.map(|tool| self.find_scope(tool)));
        let at = SHELL_TOOLS.iter().position(|known| *known == tool);
        at.and_then(|at| known.get(at).copied())
            .unwrap_or_else(|| self.find_scope(tool))
    }

    /// Finds how much of the actions of `tool` this pattern covers.
    ///
    /// Tries details that have nothing in common. A pattern that matches them all and excludes something
    /// (`(?!push).*`, `[^;]*`) is [`PatternScope::AllBut`].
    fn find_scope(&self, tool: &str) -> PatternScope {
        let covers = |probe: &&str| {
            self.matches(&format!("tool:{tool}:{probe}"))
                .unwrap_or(false)
        };
        match (PROBES.iter().all(&covers), self.excludes()) {
            (true, false) => PatternScope::Everything,
            (true, true) => PatternScope::AllBut,
            (false, true) if PROBES.iter().skip(1).any(covers) => PatternScope::AllBut,
            (false, _) => PatternScope::Narrow,
        }
    }

    /// Returns the words that it spells, for guessing the unknown words of a command; the first is a word that is not
    /// used anywhere.
    pub(super) fn literals(&self) -> Vec<&str> {
        /// Most words of one pattern that are tried.
        const MOST: usize = 40;
        let words = self
            .source
            .split(|c: char| !c.is_ascii_alphanumeric() && !"_-./".contains(c));
        let plain = words.filter(|word| word.len() > 1 && !word.starts_with("tool"));
        std::iter::once("zq7").chain(plain).take(MOST).collect()
    }

    /// Returns whether it matches every action of `operation`, a tool with its operation (`git:push`).
    pub(super) fn covers_operation(&self, operation: &str) -> bool {
        let covers = |text: String| self.matches(&text).unwrap_or(false);
        covers(format!("tool:{operation}"))
            && PROBES
                .iter()
                .all(|probe| covers(format!("tool:{operation} {probe}")))
            && !self.excludes()
    }

    /// Returns whether this pattern can match an action that begins with `tool:<subject>`.
    ///
    /// `subject` is a tool (`bash`) or one of its operations (`git:push`). False only if the pattern begins with the
    /// names of other subjects; a pattern with any other beginning may match everything.
    pub(super) fn may_speak_of(&self, subject: &str) -> bool {
        let (tool, operation) = match subject.split_once(':') {
            Some((tool, operation)) => (tool, Some(operation)),
            None => (subject, None),
        };
        let Some((tools, rest)) = named(&self.source, "tool:") else {
            return true;
        };
        if !tools.contains(&tool) {
            return false;
        }
        match (operation, named(rest, ":")) {
            (Some(operation), Some((operations, _))) => operations.contains(&operation),
            _ => true,
        }
    }
}

/// Returns the names that `source` requires after `lead`, one or several in brackets, and the text after them.
fn named<'a>(source: &'a str, lead: &str) -> Option<(Vec<&'a str>, &'a str)> {
    let rest = source.trim_start_matches('^').strip_prefix(lead)?;
    // An alternative at the top of the pattern need not begin with `lead`.
    if has_open_alternative(source) {
        return None;
    }
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let (names, rest) = match rest.strip_prefix('(') {
        Some(group) => {
            let (names, rest) = group.split_once(')')?;
            (
                names
                    .trim_start_matches("?:")
                    .split('|')
                    .collect::<Vec<_>>(),
                rest,
            )
        }
        None => {
            let end = rest
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            (vec![&rest[..end]], &rest[end..])
        }
    };
    // Anything else could continue the name: `ba\S+`, `ba(sh)?`.
    let ends = matches!(rest, "" | "( .*)?" | r"(\s.*)?") || rest.starts_with([':', ' ']);
    (ends && names.iter().all(|name| is_name(name))).then_some((names, rest))
}

/// Returns whether there is a `|` outside all brackets, or the brackets are too complicated to tell.
fn has_open_alternative(source: &str) -> bool {
    let mut depth = 0_usize;
    let mut escaped = false;
    for c in source.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => return true,
            _ => {}
        }
    }
    false
}

/// Returns why we refuse a pattern that the engine accepts: it is ambiguous, or its cost has no bound.
fn refused_by_us(source: &str) -> Option<String> {
    let mut seen: Vec<&str> = Vec::new();
    for opening in ["(?P<", "(?<"] {
        for after in source
            .split(opening)
            .skip(1)
            .filter(|after| !after.starts_with(['=', '!']))
        {
            let name = after.split('>').next().unwrap_or_default();
            if seen.contains(&name) {
                return Some(format!("two groups are called `{name}`"));
            }
            seen.push(name);
        }
    }
    let backwards = source.split('{').skip(1).find_map(|after| {
        let (least, rest) = after.split_once(',')?;
        let (most, _) = rest.split_once('}')?;
        let (least, most) = (least.parse::<u32>().ok()?, most.parse::<u32>().ok()?);
        (least > most)
            .then(|| format!("`{{{least},{most}}}` repeats at least more often than at most"))
    });
    if backwards.is_some() {
        return backwards;
    }
    let looks_behind_without_bound = ["(?<=", "(?<!"]
        .iter()
        .flat_map(|opening| source.split(opening).skip(1))
        .any(|behind| {
            let inside = behind.split(')').next().unwrap_or_default();
            inside.contains(['*', '+']) || inside.contains(",}")
        });
    looks_behind_without_bound.then(|| "a look-behind needs a bounded length".to_owned())
}

/// Returns the possible beginnings of every match of `source`, if there is a short list of them.
fn beginnings(source: &str) -> Option<Vec<Vec<u8>>> {
    let hir = regex_syntax::parse(source).ok()?;
    let found: Seq = Extractor::new().extract(&hir);
    let literals = found.literals()?;
    Some(literals.iter().map(|one| one.as_bytes().to_vec()).collect())
}

fn build(source: &str) -> Result<Regex, PatternError> {
    RegexBuilder::new(source)
        .backtrack_limit(BACKTRACK_LIMIT)
        .delegate_size_limit(COMPILED_BYTES)
        .delegate_dfa_size_limit(COMPILED_BYTES)
        .delegate_dfa_skip_cache_capacity_check(false)
        .max_prog_size(MAX_PROGRAM)
        .build()
        .map_err(|error| PatternError::Malformed(error.to_string()))
}

/// Why a pattern is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// More bytes than a pattern may have.
    #[error("it has {0} bytes, at most {MAX_LENGTH} are allowed")]
    TooLong(usize),
    /// The engine's own words.
    #[error("{0}")]
    Malformed(String),
}

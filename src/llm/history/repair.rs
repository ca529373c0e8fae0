//! The one function that makes a conversation valid, and the check for validity.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::domain::{Assistant, CallId, Item, ToolCall, ToolResult, UserText};

/// The result for a call without one. It tells the model that the call may or may not have had effects.
pub const INTERRUPTED: &str = "No result: the call was interrupted before it finished. It may have had effects; check before repeating it.";

/// The first item when the beginning of a conversation is missing.
pub const BEGINNING_MISSING: &str = "The beginning of this conversation is not available.";

/// Longest call id that all providers accept (OpenAI's Chat Completions refuses longer ones).
const MAX_ID: usize = 40;

/// Longest tool name that all providers accept.
const MAX_NAME: usize = 64;

/// A conversation made valid.
#[derive(Clone, Debug, PartialEq)]
pub struct Repaired {
    pub items: Vec<Item>,
    /// The changes, a phrase each; empty if there were none.
    pub changed: Vec<String>,
}

/// Makes `items` valid. Valid items are returned unchanged, so a second repair changes nothing.
pub fn repair(items: &[Item]) -> Repaired {
    let pairs = Pairs::find(items);
    let mut names = Names::of(items);
    let mut changes = Changes::default();
    let mut out = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        match item {
            Item::User(user) if is_empty_user(user) => changes.empty += 1,
            Item::User(_) => out.push(item.clone()),
            Item::Assistant(answer) if is_empty_answer(answer) => changes.empty += 1,
            Item::Assistant(answer) => {
                let answer = names.made_valid(answer, &mut changes);
                let results = results_of(&answer, at, items, &pairs, &mut changes);
                out.push(Item::Assistant(answer));
                out.extend(results);
            }
            Item::ToolResult(_) if pairs.claimed.contains(&at) => {}
            Item::ToolResult(_) => changes.orphans += 1,
        }
    }
    if out
        .first()
        .is_some_and(|first| !matches!(first, Item::User(_)))
    {
        changes.headless = 1;
        out.insert(0, Item::User(UserText::note(BEGINNING_MISSING)));
    }
    Repaired {
        items: out,
        changed: changes.phrases(),
    }
}

/// Returns whether every provider would accept `items` unchanged. Much cheaper than a repair: nothing is copied.
pub fn is_valid(items: &[Item]) -> bool {
    let mut ids = HashSet::new();
    let mut open: VecDeque<&ToolCall> = VecDeque::new();
    if items
        .first()
        .is_some_and(|first| !matches!(first, Item::User(_)))
    {
        return false;
    }
    for item in items {
        match item {
            Item::ToolResult(result) => match open.pop_front() {
                Some(call) if call.id == result.call_id && call.name == result.name => {}
                _ => return false,
            },
            _ if !open.is_empty() => return false,
            Item::User(user) if is_empty_user(user) => return false,
            Item::User(_) => {}
            Item::Assistant(answer) => {
                let calls = &answer.tool_calls;
                let sound =
                    |call: &ToolCall| is_sound_id(&call.id.0) && is_sound(&call.name, MAX_NAME);
                if is_empty_answer(answer)
                    || !calls.iter().all(|call| sound(call) && ids.insert(&call.id))
                {
                    return false;
                }
                open.extend(calls);
            }
        }
    }
    open.is_empty()
}

/// Gives the calls of a new `answer` ids that no call of `items` has.
///
/// They are nearly always unique already, which is checked without copying any id of the conversation.
pub(in crate::llm) fn make_ids_unique(answer: &mut Assistant, items: &[Item]) {
    let calls = &answer.tool_calls;
    let is_known = |id: &CallId| calls_of(items).any(|call| call.id == *id);
    let is_repeated = |at: usize| calls[..at].iter().any(|call| call.id == calls[at].id);
    let sound = |call: &ToolCall| is_sound_id(&call.id.0) && is_sound(&call.name, MAX_NAME);
    let is_new = |at: usize| sound(&calls[at]) && !is_repeated(at) && !is_known(&calls[at].id);
    if (0..calls.len()).all(is_new) {
        return;
    }
    let mut names = Names::of(items);
    names.given.clone_from(&names.known);
    *answer = names.made_valid(answer, &mut Changes::default());
}

/// Returns the results of `answer`'s calls, in order; a call without one is closed.
fn results_of(
    answer: &Assistant,
    at: usize,
    items: &[Item],
    pairs: &Pairs,
    changes: &mut Changes,
) -> Vec<Item> {
    let mut results = Vec::with_capacity(answer.tool_calls.len());
    for (index, call) in answer.tool_calls.iter().enumerate() {
        let found = pairs.results.get(&(at, index)).copied();
        if found.is_some_and(|position| position != at + 1 + index) {
            changes.moved += 1;
        }
        let mut result = match found.map(|position| &items[position]) {
            Some(Item::ToolResult(result)) => result.clone(),
            _ => {
                changes.closed += 1;
                ToolResult {
                    content: INTERRUPTED.to_owned(),
                    is_error: true,
                    ..ToolResult::default()
                }
            }
        };
        if found.is_some() && (result.call_id != call.id || result.name != call.name) {
            changes.relabelled += 1;
        }
        result.call_id = call.id.clone();
        result.name = call.name.clone();
        results.push(Item::ToolResult(result));
    }
    results
}

fn is_empty_user(user: &UserText) -> bool {
    user.text.trim().is_empty()
        && user.author.is_none()
        && user.facts.is_none()
        && user.attachments.is_empty()
        && user.images.is_empty()
}

fn is_empty_answer(answer: &Assistant) -> bool {
    answer.text.trim().is_empty() && answer.tool_calls.is_empty() && answer.opaque.is_empty()
}

fn is_sound(word: &str, max: usize) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !word.is_empty() && word.len() <= max && word.bytes().all(allowed)
}

/// Returns whether all providers accept `id` for a call.
pub(in crate::llm) fn is_sound_id(id: &str) -> bool {
    is_sound(id, MAX_ID)
}

fn calls_of(items: &[Item]) -> impl Iterator<Item = &ToolCall> {
    let answers = items.iter().filter_map(|item| match item {
        Item::Assistant(answer) => Some(&answer.tool_calls),
        Item::User(_) | Item::ToolResult(_) => None,
    });
    answers.flatten()
}

/// Which result belongs to which call, by position.
struct Pairs {
    /// (position of the answer, index of the call) → position of the result.
    results: HashMap<(usize, usize), usize>,
    claimed: HashSet<usize>,
}

impl Pairs {
    /// Pairs each result with the latest answer before it that has an open call of its id.
    fn find(items: &[Item]) -> Self {
        let mut open: HashMap<&CallId, VecDeque<(usize, usize)>> = HashMap::new();
        let mut results = HashMap::new();
        let mut claimed = HashSet::new();
        for (at, item) in items.iter().enumerate() {
            match item {
                Item::User(_) => {}
                Item::Assistant(answer) => {
                    for call in &answer.tool_calls {
                        open.remove(&call.id);
                    }
                    for (index, call) in answer.tool_calls.iter().enumerate() {
                        open.entry(&call.id).or_default().push_back((at, index));
                    }
                }
                Item::ToolResult(result) => {
                    let call = open.get_mut(&result.call_id).and_then(VecDeque::pop_front);
                    if let Some(call) = call {
                        results.insert(call, at);
                        claimed.insert(at);
                    }
                }
            }
        }
        Self { results, claimed }
    }
}

/// Gives every call a unique id and a name that providers accept.
struct Names {
    /// All existing ids, so that a new one differs from them.
    known: HashSet<String>,
    given: HashSet<String>,
}

impl Names {
    fn of(items: &[Item]) -> Self {
        Self {
            known: calls_of(items).map(|call| call.id.0.clone()).collect(),
            given: HashSet::new(),
        }
    }

    fn made_valid(&mut self, answer: &Assistant, changes: &mut Changes) -> Assistant {
        let mut answer = answer.clone();
        for call in &mut answer.tool_calls {
            if !is_sound_id(&call.id.0) || self.given.contains(&call.id.0) {
                changes.renamed += 1;
                call.id = CallId(self.fresh(&call.id.0));
            }
            self.given.insert(call.id.0.clone());
            if !is_sound(&call.name, MAX_NAME) {
                changes.names += 1;
                call.name = sound_name(&call.name);
            }
        }
        answer
    }

    /// Returns an id like `id` that is valid and not used yet.
    fn fresh(&mut self, id: &str) -> String {
        let stem = made_of_sound(id, MAX_ID - 8);
        let stem = if stem.is_empty() {
            "call"
        } else {
            stem.as_str()
        };
        let mut number = 2_u32;
        loop {
            let candidate = format!("{stem}_{number}");
            if self.known.insert(candidate.clone()) {
                return candidate;
            }
            number += 1;
        }
    }
}

/// Returns `name` without the characters that providers refuse; a model sometimes calls a tool that does not exist.
fn sound_name(name: &str) -> String {
    match made_of_sound(name, MAX_NAME) {
        empty if empty.is_empty() => "unknown".to_owned(),
        sound => sound,
    }
}

fn made_of_sound(word: &str, max: usize) -> String {
    word.chars()
        .take(max)
        .map(|letter| match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => letter,
            _ => '_',
        })
        .collect()
}

/// How often each kind of change was made.
#[derive(Default)]
struct Changes {
    empty: usize,
    orphans: usize,
    moved: usize,
    closed: usize,
    relabelled: usize,
    renamed: usize,
    names: usize,
    headless: usize,
}

impl Changes {
    fn phrases(&self) -> Vec<String> {
        let kinds = [
            (self.closed, "closed without a result", "call", "calls"),
            (
                self.orphans,
                "dropped for lack of a call",
                "result",
                "results",
            ),
            (self.moved, "moved to its call", "result", "results"),
            (self.relabelled, "labelled as its call", "result", "results"),
            (self.renamed, "given an id of its own", "call", "calls"),
            (
                self.names,
                "given a name that providers take",
                "call",
                "calls",
            ),
            (self.empty, "dropped as empty", "message", "messages"),
            (
                self.headless,
                "put first, because the beginning is missing",
                "note",
                "notes",
            ),
        ];
        kinds
            .into_iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, what, one, many)| {
                format!("{count} {} {what}", if count == 1 { one } else { many })
            })
            .collect()
    }
}

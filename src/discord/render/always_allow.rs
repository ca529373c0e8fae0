//! *Always allow* in words: a confirmation with its future scope, and a list of the existing entries, each with a
//! button to remove it. Pure.

use sha2::{Digest, Sha256};

use super::approval::Subject;
use crate::discord::rest::body::{Body, Button, Embed, Style, Tone};
use crate::permission::{Action, Scope, scope};
use crate::text::{self, escape};

/// Most characters of scopes in the question; longer ones go into a file.
const MAX_SHOWN: usize = 2_500;

/// Most characters of one value in the list.
const MAX_LISTED: usize = 200;

/// Most entries that the list shows with a button each.
const MOST_LISTED: usize = 15;

/// The answer to the person who confirmed.
pub(crate) const GRANTED: &str =
    "From now on this runs without asking. To undo it: `/agent config`, key `always_allow`.";

/// Asks for a confirmation that these actions may run without a question from now on.
pub(crate) fn ask(subject: Subject, agent: &str, actions: &[String]) -> Body {
    let agent = escape::name(agent);
    let actions: Vec<String> = actions.iter().map(|action| kept_as(action)).collect();
    let mut scopes = String::new();
    for action in &actions {
        let scope = scope(action);
        scopes.push_str(&format!("**{}**\n", scope.what));
        for (name, value) in &scope.bound {
            if value.is_empty() {
                scopes.push_str(&format!("{name}\n"));
            } else {
                scopes.push_str(&format!("{name}\n{}\n", text::fenced(value, "")));
            }
        }
        scopes.push_str(&format!("{}\n", bounds(&scope)));
    }
    let is_long = scopes.chars().count() > MAX_SHOWN;
    if is_long {
        scopes =
            "The list is too long for this message: **read the attached file before you confirm.**\n"
                .to_owned();
    }
    let description = format!(
        "From now on {agent} may do this without asking, no matter who writes to it:\n{scopes}Anything the agent's profile denies stays denied. To undo it: `/agent config`, key `always_allow`."
    );
    let embed = Embed::new("Always allow?", description).tone(Tone::Asking);
    let confirm = format!("always:{}", subject.component("confirm"));
    let body = Body::embed(embed).row(vec![
        Button::new(confirm, "Confirm", Style::Danger),
        Button::new("cancel:", "Cancel", Style::Secondary),
    ]);
    if !is_long {
        return body;
    }
    let all = actions
        .iter()
        .map(|action| format!("{}\n", text::visible(action).0));
    body.text_file("always_allow.txt", all.collect::<String>())
}

/// Lists the acts that `agent` may do without a question, each with a button that removes it.
pub(crate) fn list(agent: &str, entries: &[String]) -> Body {
    let title = format!("{agent}: always_allow");
    if entries.is_empty() {
        let text = "There are no entries yet. *Always allow* under a question adds one.";
        return Body::embed(Embed::new(title, text));
    }
    let agent_name = escape::name(agent);
    let mut shown = format!("{agent_name} may do this without asking:\n");
    let mut buttons = Vec::new();
    for (index, entry) in entries.iter().enumerate().take(MOST_LISTED) {
        let number = index + 1;
        let line = format!("**{number}.** {}\n", in_a_line(&scope(entry)));
        if shown.chars().count() + line.chars().count() > 3_800 {
            break;
        }
        shown.push_str(&line);
        let id = format!("ungrant:{}:{agent}", digest(entry));
        buttons.push(Button::new(
            id,
            format!("Take back {number}"),
            Style::Secondary,
        ));
    }
    let all_shown = buttons.len() == entries.len();
    if !all_shown {
        shown.push_str(&format!(
            "The attached file lists all {}. `remove` and a number as the value removes one of them.",
            entries.len()
        ));
    }
    let mut body = Body::embed(Embed::new(title, shown));
    for row in buttons.chunks(5) {
        body = body.row(row.to_vec());
    }
    let cut = entries.iter().flat_map(|entry| scope(entry).bound);
    let is_cut = cut
        .into_iter()
        .any(|(_, value)| escape::code(&value).chars().count() > MAX_LISTED);
    if all_shown && !is_cut {
        body
    } else {
        let lines = entries
            .iter()
            .zip(1..)
            .map(|(entry, number)| format!("{number}. {}\n", text::visible(entry).0));
        body.text_file("always_allow.txt", lines.collect::<String>())
    }
}

/// Returns a name for an entry for the id of a button.
pub(crate) fn digest(entry: &str) -> String {
    let hash = format!("{:x}", Sha256::digest(entry));
    hash.get(..16).unwrap_or(&hash).to_owned()
}

/// Returns the entry that *Always allow* adds for an action.
fn kept_as(action: &str) -> String {
    let parsed = Action::parse(action).ok();
    let standing = parsed.and_then(|parsed| parsed.standing());
    standing.unwrap_or_else(|| action.to_owned())
}

fn bounds(scope: &Scope) -> String {
    match scope.free {
        "" => "It must be exactly the same every time.".to_owned(),
        free => format!("May differ from call to call: {free}"),
    }
}

fn in_a_line(scope: &Scope) -> String {
    let mut line = scope.what.to_owned();
    for (at, (name, value)) in scope.bound.iter().enumerate() {
        let separator = if at == 0 { ": " } else { " · " };
        line.push_str(&format!("{separator}{name}"));
        if !value.is_empty() {
            line.push_str(&format!(" {}", escape::code_within(value, MAX_LISTED)));
        }
    }
    match scope.free {
        "" => line,
        free => format!("{line} · {free}"),
    }
}

//! A skill's front matter: its entry in the list of skills, read from the beginning of its `SKILL.md`.

use super::file::{front_start, is_end};
use super::key_names::plain;
use super::yaml::{self, Node, NotRead, Yaml};
use crate::text;

/// Bytes at the start of a file that contain its front matter.
pub const HEAD: usize = 16 << 10;

/// Most characters of a name and of a description, by the format.
const NAME: usize = 64;
const DESCRIPTION: usize = 1_024;

/// A skill as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
}

/// Reads the start of a `SKILL.md` in `folder`; `None` if it has no description.
pub fn skill(head: &[u8], folder: &str) -> Option<Skill> {
    let front = front(head)?;
    match yaml::parse(&front, 2) {
        Ok(Node {
            value: Yaml::Map(entries),
            ..
        }) => listed(folder, &|key| {
            let found = entries
                .iter()
                .find(|(name, _)| name.text().is_ok_and(|name| plain(name) == key))?;
            found.1.text().ok().map(str::to_owned)
        }),
        Err(NotRead::Syntax { .. }) => listed(folder, &|key| line_of(&front, key)),
        Ok(_) | Err(NotRead::Refused(_)) => None,
    }
}

fn listed(folder: &str, read: &dyn Fn(&str) -> Option<String>) -> Option<Skill> {
    let one_line = |text: &str, most| text::one_line(&text::visible(text).0, most);
    let description = one_line(&read("description")?, DESCRIPTION);
    let name = read("name").unwrap_or_default();
    let name = match name.trim() {
        "" => folder,
        name => name,
    };
    (!description.is_empty()).then(|| Skill {
        name: one_line(name, NAME),
        description,
    })
}

/// Returns the instructions of a `SKILL.md`: everything below its front matter.
pub fn skill_body(text: &str) -> &str {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(start) = front_start(text) else {
        return text.trim();
    };
    let mut at = start;
    for line in text[start..].split_inclusive('\n') {
        at += line.len();
        if is_end(line) {
            return text[at..].trim();
        }
    }
    ""
}

/// Returns the front matter without the lines around it.
fn front(head: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(head);
    let head = head.strip_prefix('\u{feff}').unwrap_or(&head);
    let lines = head[front_start(head)?..].lines();
    let mut front = String::new();
    for line in lines {
        if is_end(line) {
            return Some(front);
        }
        front.push_str(line);
        front.push('\n');
    }
    None
}

/// Returns the value of a key at the beginning of a line, if the whole text is not valid YAML.
fn line_of(front: &str, key: &str) -> Option<String> {
    let values = front.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        (plain(name) == key).then_some(value)
    });
    let value = values.map(str::trim).find(|value| !value.is_empty())?;
    Some(value.to_owned())
}

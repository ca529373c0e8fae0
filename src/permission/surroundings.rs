//! The folder of a command and its hooks, as the end of its action.
//!
//! `tool:run_concurrent:make in web with hooks "when it ends, say so"` is `make` in the folder `web`; after the hooks there
//! may be ` and model "gpt-5"`. A command may itself end in such words. Then the workspace is named, `.`: `tool:bash:echo
//! all in all` would be `echo all` in the folder `all`, so the command `echo all in all` is `tool:bash:echo all in all in
//! .`.

use std::ops::Range;

/// The parts of a call of a shell tool besides its command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The folder it runs in, relative to the workspace; `None` for the workspace itself.
    pub folder: Option<String>,
    /// The instructions for its hooks.
    pub hooks: Option<String>,
    /// The model for the turns that the hooks start; only together with hooks.
    pub model: Option<String>,
}

/// The words before a folder.
const IN: &str = " in ";

/// The words before the instructions for hooks.
const WITH_HOOKS: &str = " with hooks ";

/// The words before the model, after the instructions.
const AND_MODEL: &str = " and model ";

impl Surroundings {
    /// Returns the end of the action of `command`.
    pub(super) fn suffix(&self, command: &str) -> String {
        let hooks = match &self.hooks {
            Some(hooks) => format!("{WITH_HOOKS}{}{}", quoted(hooks), self.model_suffix()),
            None => String::new(),
        };
        if let Some(folder) = &self.folder {
            return format!("{IN}{}{hooks}", spelled(folder));
        }
        let detail = format!("{command}{hooks}");
        let (read, others) = split(&detail);
        if read == command && others == *self {
            hooks
        } else {
            format!("{IN}.{hooks}")
        }
    }

    /// Returns the places in a suffix with words that a pattern must spell; the workspace itself need not be spelled.
    pub(super) fn connectives(&self, suffix: &str) -> Vec<Range<usize>> {
        let inner = |at: usize, words: &str| at + 1..at + words.len() - 1;
        let folder = self.folder.as_ref().map(|_| inner(0, IN));
        let model = self.model_suffix();
        let hooks = self.hooks.as_ref().and_then(|hooks| {
            let length = WITH_HOOKS.len() + quoted(hooks).len() + model.len();
            Some(inner(suffix.len().checked_sub(length)?, WITH_HOOKS))
        });
        let model = hooks
            .clone()
            .filter(|_| !model.is_empty())
            .map(|_| inner(suffix.len() - model.len(), AND_MODEL));
        folder.into_iter().chain(hooks).chain(model).collect()
    }

    fn model_suffix(&self) -> String {
        match &self.model {
            Some(model) => format!("{AND_MODEL}{}", quoted(model)),
            None => String::new(),
        }
    }

    /// Returns all its texts, for checks of their letters.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        [&self.folder, &self.hooks, &self.model]
            .into_iter()
            .flatten()
            .map(String::as_str)
    }
}

/// Splits the detail of an action into the command and the surroundings.
pub(super) fn split(detail: &str) -> (&str, Surroundings) {
    let with_model = quoted_end(detail, AND_MODEL)
        .and_then(|(rest, model)| Some((quoted_end(rest, WITH_HOOKS)?, model)));
    let (rest, hooks, model) = match with_model {
        Some(((rest, hooks), model)) => (rest, Some(hooks), Some(model)),
        None => match quoted_end(detail, WITH_HOOKS) {
            Some((rest, hooks)) => (rest, Some(hooks), None),
            None => (detail, None, None),
        },
    };
    let (command, folder) = match quoted_end(rest, IN).or_else(|| plain_end(rest)) {
        Some((command, folder)) => (command, Some(folder)),
        None => (rest, None),
    };
    let folder = folder.filter(|folder| folder != ".");
    let surroundings = Surroundings {
        folder,
        hooks,
        model,
    };
    (command, surroundings)
}

/// Returns `text` as a JSON string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns a folder as written in an action: in quotes if it contains unusual characters.
fn spelled(folder: &str) -> String {
    if is_plain(folder) {
        folder.to_owned()
    } else {
        quoted(folder)
    }
}

fn is_plain(folder: &str) -> bool {
    !folder.is_empty()
        && folder
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._/@+-".contains(&byte))
}

/// Returns the text before `lead` and a JSON string at the end of `text`, and the string.
fn quoted_end<'a>(text: &'a str, lead: &str) -> Option<(&'a str, String)> {
    if !text.ends_with('"') {
        return None;
    }
    let start = format!("{lead}\"");
    text.rmatch_indices(&start).find_map(|(at, _)| {
        let string = text.get(at + lead.len()..)?;
        let value: String = serde_json::from_str(string).ok()?;
        // Only in the exact form that is written here, so that no two texts mean the same.
        (quoted(&value) == string).then(|| (&text[..at], value))
    })
}

fn plain_end(text: &str) -> Option<(&str, String)> {
    let (command, folder) = text.rsplit_once(IN)?;
    is_plain(folder).then(|| (command, folder.to_owned()))
}

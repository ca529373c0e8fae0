//! The buttons and menus under a message.

use serde_json::Value;

use crate::guild::Message;

/// A button under a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    /// Its text.
    pub label: String,
    /// The custom id that a press sends; empty for a link.
    pub custom_id: String,
    /// Disabled.
    pub is_disabled: bool,
}

impl Message {
    /// Returns its buttons, row by row.
    pub fn buttons(&self) -> Vec<Button> {
        self.parts_of_type(2)
            .map(|part| Button {
                label: text(&part["label"]),
                custom_id: text(&part["custom_id"]),
                is_disabled: part["disabled"].as_bool().unwrap_or(false),
            })
            .collect()
    }

    /// Returns its select menus, in Discord's shape.
    pub fn selects(&self) -> Vec<Value> {
        self.parts()
            .filter(|part| matches!(part["type"].as_u64(), Some(3 | 5..=8)))
            .cloned()
            .collect()
    }

    /// Returns whether only one person sees it.
    pub fn is_ephemeral(&self) -> bool {
        self.only_for.is_some()
    }

    fn parts(&self) -> impl Iterator<Item = &Value> {
        self.components
            .iter()
            .filter_map(|row| row["components"].as_array())
            .flatten()
    }

    fn parts_of_type(&self, number: u64) -> impl Iterator<Item = &Value> {
        self.parts()
            .filter(move |part| part["type"].as_u64() == Some(number))
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

//! Modals, which people see as forms: text fields as Discord defines them, and the text written into them. Pure.

use serde_json::{Value, json};
use serenity::all::{ActionRowComponent, ModalInteraction};

use super::body::clip;

/// Most characters of a field.
pub const MAX_FIELD: usize = 4_000;
/// Most characters of a title.
const MAX_TITLE: usize = 45;

/// A modal about to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modal {
    id: String,
    title: String,
    fields: Vec<TextInput>,
}

/// A field that a person writes into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextInput {
    id: &'static str,
    label: &'static str,
    style: u8,
    shortest: usize,
    longest: usize,
    required: bool,
    value: String,
}

impl Modal {
    /// Creates a modal without fields. `id` is sent with its submission.
    pub fn new(id: impl Into<String>, title: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            fields: Vec::new(),
        }
    }

    /// Adds a field.
    #[must_use]
    pub fn field(mut self, field: TextInput) -> Self {
        self.fields.push(field);
        self
    }

    pub fn to_json(&self) -> Value {
        let row = |field: &TextInput| json!({"type": 1, "components": [field.to_json()]});
        json!({
            "custom_id": self.id,
            "title": clip(&self.title, MAX_TITLE),
            "components": self.fields.iter().map(row).collect::<Vec<_>>(),
        })
    }
}

impl TextInput {
    /// Creates a field of one line, which has to be filled in.
    pub const fn line(id: &'static str, label: &'static str) -> Self {
        Self {
            id,
            label,
            style: 1,
            shortest: 1,
            longest: MAX_FIELD,
            required: true,
            value: String::new(),
        }
    }

    /// Creates a field of several lines, which has to be filled in.
    pub const fn paragraph(id: &'static str, label: &'static str) -> Self {
        let mut input = Self::line(id, label);
        input.style = 2;
        input
    }

    /// Sets the fewest and the most characters that the field accepts.
    #[must_use]
    pub const fn length(mut self, shortest: usize, longest: usize) -> Self {
        (self.shortest, self.longest) = (shortest, longest);
        self
    }

    /// Lets the field stay empty.
    #[must_use]
    pub const fn optional(mut self) -> Self {
        (self.shortest, self.required) = (0, false);
        self
    }

    /// Sets the initial text of the field.
    #[must_use]
    pub fn value(mut self, value: impl Into<String>) -> Self {
        self.value = value.into();
        self
    }

    fn to_json(&self) -> Value {
        json!({
            "type": 4,
            "custom_id": self.id,
            "label": self.label,
            "style": self.style,
            "min_length": self.shortest,
            "max_length": self.longest,
            "required": self.required,
            "value": self.value,
        })
    }
}

/// Returns the text in the field `id` of a submitted modal.
pub fn written(modal: &ModalInteraction, id: &str) -> Option<String> {
    let parts = modal.data.components.iter().flat_map(|row| &row.components);
    let mut inputs = parts.filter_map(|part| match part {
        ActionRowComponent::InputText(input) => Some(input),
        _ => None,
    });
    inputs.find(|input| input.custom_id == id)?.value.clone()
}

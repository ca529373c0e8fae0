//! Reads and sorts the providers' lists of models.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::catalog;
use super::failure::ApiError;

/// The models of a provider, in its own order, and its information about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    pub models: Vec<String>,
    /// By model; only models that it describes.
    pub abilities: BTreeMap<String, Abilities>,
}

impl From<Vec<String>> for Listing {
    fn from(models: Vec<String>) -> Self {
        Self {
            models,
            abilities: BTreeMap::new(),
        }
    }
}

/// The abilities of a model as its server reports them; `None` if it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Abilities {
    /// Tokens of the window that the server uses for the model, possibly fewer than the model supports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// Whether it answers in text; embedding models do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chats: Option<bool>,
}

impl Abilities {
    /// Returns the abilities, completed by `further`.
    pub(super) fn or(self, further: Self) -> Self {
        Self {
            window: self.window.or(further.window),
            max_output: self.max_output.or(further.max_output),
            tools: self.tools.or(further.tools),
            images: self.images.or(further.images),
            chats: self.chats.or(further.chats),
        }
    }
}

/// Returns the texts under `id` of the objects in the list `key`, or in `page` if that is a list; `null` is an empty
/// list.
pub(super) fn ids(page: &Value, key: &str, id: &str) -> Result<Vec<String>, ApiError> {
    let list = match page.get(key).unwrap_or(page) {
        Value::Array(list) => list.as_slice(),
        Value::Null => &[],
        _ => return Err(ApiError::invalid("the answer is not a list of models")),
    };
    let names = list.iter().filter_map(|model| model.get(id)?.as_str());
    Ok(names.map(str::to_owned).collect())
}

/// Returns OpenAI's models that chat, sorted. `gpt-4o-2024-08-06` is left out if `gpt-4o` is listed too.
pub fn chat_models(ids: Vec<String>) -> Vec<String> {
    let mut chat: Vec<String> = ids.into_iter().filter(|id| is_chat_model(id)).collect();
    chat.sort();
    chat.dedup();
    without_dated_twins(chat)
}

/// Returns whether OpenAI's model `id` chats, as far as its name shows.
pub fn is_chat_model(id: &str) -> bool {
    const FAMILIES: &[&str] = &["gpt-", "chatgpt-", "o1", "o3", "o4"];
    const OTHERS: &[&str] = &[
        "-realtime",
        "-tts",
        "-transcribe",
        "-audio",
        "-image",
        "-search",
        "-instruct",
        "-diarize",
        "-live",
        "-whisper",
    ];
    let is_family = |family: &&str| {
        let rest = id.strip_prefix(*family);
        rest.is_some_and(|rest| family.ends_with('-') || rest.is_empty() || rest.starts_with('-'))
    };
    FAMILIES.iter().any(is_family) && !OTHERS.iter().any(|other| id.contains(other))
}

/// Returns whether a model's name shows another use than chat. Servers that list embeddings, speech and pictures beside
/// their chat models seldom say which is which.
pub(super) fn names_other_use(id: &str) -> bool {
    const WORDS: [&str; 20] = [
        "embed",
        "whisper",
        "tts",
        "rerank",
        "reranker",
        "moderation",
        "dall-e",
        "dalle",
        "transcribe",
        "stable-diffusion",
        "sdxl",
        "flux",
        "gpt-image",
        "imagen",
        "clip",
        "bge",
        "minilm",
        "kokoro",
        "parakeet",
        "sora",
    ];
    let id = id.to_ascii_lowercase();
    let name = id.rsplit('/').next().unwrap_or(&id);
    WORDS.iter().any(|word| {
        // A whole part of the name; `embed` also begins `embedding` and `embeddings`.
        let mut found = name.match_indices(word);
        found.any(|(at, _)| {
            let before = name[..at].chars().next_back();
            let after = name[at + word.len()..].chars().next();
            let ends = after.is_none_or(|letter| !letter.is_ascii_alphabetic());
            before.is_none_or(|letter| !letter.is_ascii_alphanumeric())
                && (ends || *word == "embed")
        })
    })
}

/// Removes from `ids` those that are another one with a date (`-2024-08-06`).
pub fn without_dated_twins(ids: Vec<String>) -> Vec<String> {
    let is_twin = |id: &String| {
        let base = catalog::without_date(id).filter(|base| id.len() - base.len() == 11);
        base.is_some_and(|base| ids.iter().any(|other| other == base))
    };
    ids.iter().filter(|id| !is_twin(id)).cloned().collect()
}

/// Returns each model once, in the given order.
pub(super) fn distinct(mut models: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    models.retain(|model| seen.insert(model.clone()));
    models
}

//! Lists of models as providers give them, read and put in order.

use serde_json::Value;

use super::catalog;
use super::failure::ApiError;

/// The texts under `id` of the objects in the list `key`, or in the list that `page` itself is; `null` is an empty one.
pub(super) fn ids(page: &Value, key: &str, id: &str) -> Result<Vec<String>, ApiError> {
    let list = match page.get(key).unwrap_or(page) {
        Value::Array(list) => list.as_slice(),
        Value::Null => &[],
        _ => return Err(ApiError::invalid("the answer is no list of models")),
    };
    let names = list.iter().filter_map(|model| model.get(id)?.as_str());
    Ok(names.map(str::to_owned).collect())
}

/// Of the models that OpenAI lists those that chat, without dated twins, sorted.
pub fn chat_models(ids: Vec<String>) -> Vec<String> {
    without_dated_twins(sorted(
        ids.into_iter().filter(|id| is_chat_model(id)).collect(),
    ))
}

/// Whether OpenAI's model `id` chats, as far as its name tells.
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

/// `ids` without those that are another one with a date (`-2024-08-06`).
pub fn without_dated_twins(ids: Vec<String>) -> Vec<String> {
    let is_twin = |id: &String| {
        let base = catalog::without_date(id).filter(|base| id.len() - base.len() == 11);
        base.is_some_and(|base| ids.iter().any(|other| other == base))
    };
    ids.iter().filter(|id| !is_twin(id)).cloned().collect()
}

/// Sorted, each once.
pub(super) fn sorted(mut models: Vec<String>) -> Vec<String> {
    models.sort();
    models.dedup();
    models
}

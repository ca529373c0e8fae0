//! Discord's limits on the content of a message.

use serde_json::Value;

use crate::desk::call::Call;
use crate::desk::error::ApiError;
use crate::guild::FILE_LIMIT;

/// Most characters in a message.
const CONTENT: usize = 2_000;
/// Most characters in all embeds of a message.
const EMBEDS_IN_ALL: usize = 6_000;

/// Returns a text of the body within these lengths; `None` if absent or null.
pub(super) fn text(
    body: &Value,
    field: &str,
    least: usize,
    most: usize,
) -> Result<Option<String>, ApiError> {
    let Some(text) = body[field].as_str() else {
        return Ok(None);
    };
    at_most(text, field, most)?;
    if text.chars().count() < least {
        let words = format!("Must be between {least} and {most} in length.");
        return Err(ApiError::invalid(field, "BASE_TYPE_BAD_LENGTH", &words));
    }
    Ok(Some(text.to_owned()))
}

/// Checks the content, embeds, components and files of a message.
pub(super) fn message(body: &Value, call: &Call) -> Result<(), ApiError> {
    text(body, "content", 0, CONTENT)?;
    embeds(&body["embeds"])?;
    components(&body["components"])?;
    if call.files.len() > 10 {
        return Err(too_many("files", 10));
    }
    if call.files.iter().any(|file| file.bytes.len() > FILE_LIMIT) {
        return Err(ApiError::too_large());
    }
    Ok(())
}

/// Returns whether a message with this body would show nothing.
pub(super) fn is_empty(body: &Value, call: &Call) -> bool {
    let has = |field: &str| body[field].as_array().is_some_and(|list| !list.is_empty());
    let has_text = body["content"]
        .as_str()
        .is_some_and(|text| !text.trim().is_empty());
    !has_text
        && !has("embeds")
        && !has("components")
        && !has("sticker_ids")
        && call.files.is_empty()
}

fn embeds(list: &Value) -> Result<(), ApiError> {
    let Some(list) = list.as_array() else {
        return Ok(());
    };
    if list.len() > 10 {
        return Err(too_many("embeds", 10));
    }
    let mut total = 0;
    for (index, embed) in list.iter().enumerate() {
        let mut check = |text: &Value, path: &str, most: usize| {
            let Some(text) = text.as_str() else {
                return Ok(());
            };
            total += text.chars().count();
            at_most(text, &format!("embeds.{index}.{path}"), most)
        };
        check(&embed["title"], "title", 256)?;
        check(&embed["description"], "description", 4_096)?;
        check(&embed["footer"]["text"], "footer.text", 2_048)?;
        check(&embed["author"]["name"], "author.name", 256)?;
        let fields = embed["fields"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        for (number, field) in fields.iter().enumerate() {
            check(&field["name"], &format!("fields.{number}.name"), 256)?;
            check(&field["value"], &format!("fields.{number}.value"), 1_024)?;
            for part in ["name", "value"] {
                if field[part].as_str().unwrap_or_default().trim().is_empty() {
                    let path = format!("embeds.{index}.fields.{number}.{part}");
                    return Err(required(&path));
                }
            }
        }
        if fields.len() > 25 {
            return Err(too_many(&format!("embeds.{index}.fields"), 25));
        }
    }
    if total > EMBEDS_IN_ALL {
        let words = "Embed size exceeds maximum size of 6000";
        return Err(ApiError::invalid(
            "embeds",
            "MAX_EMBED_SIZE_EXCEEDED",
            words,
        ));
    }
    Ok(())
}

fn components(rows: &Value) -> Result<(), ApiError> {
    let Some(rows) = rows.as_array() else {
        return Ok(());
    };
    if rows.len() > 5 {
        return Err(too_many("components", 5));
    }
    let mut ids: Vec<&str> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let path = format!("components.{index}.components");
        let parts = row["components"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let has_menu = parts
            .iter()
            .any(|part| matches!(part["type"].as_u64(), Some(3 | 5..=8)));
        let most = if has_menu { 1 } else { 5 };
        if parts.is_empty() || parts.len() > most {
            let words = format!("Must be between 1 and {most} in length.");
            return Err(ApiError::invalid(&path, "BASE_TYPE_BAD_LENGTH", &words));
        }
        for (number, part) in parts.iter().enumerate() {
            let path = format!("{path}.{number}");
            component(part, &path)?;
            let Some(id) = part["custom_id"].as_str() else {
                continue;
            };
            if ids.contains(&id) {
                let words = "Component custom id cannot be duplicated";
                let path = format!("{path}.custom_id");
                return Err(ApiError::invalid(
                    &path,
                    "COMPONENT_CUSTOM_ID_DUPLICATED",
                    words,
                ));
            }
            ids.push(id);
        }
    }
    Ok(())
}

fn component(part: &Value, path: &str) -> Result<(), ApiError> {
    let field = |name: &str| format!("{path}.{name}");
    let text = |name: &str| part[name].as_str().unwrap_or_default();
    at_most(text("custom_id"), &field("custom_id"), 100)?;
    at_most(text("label"), &field("label"), 80)?;
    at_most(text("placeholder"), &field("placeholder"), 150)?;
    let is_link = part["style"].as_u64() == Some(5);
    if text("custom_id").is_empty() && !is_link {
        return Err(required(&field("custom_id")));
    }
    let is_button = part["type"].as_u64() == Some(2);
    if is_button && text("label").is_empty() && part["emoji"].is_null() {
        return Err(required(&field("label")));
    }
    let options = part["options"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if options.len() > 25 {
        return Err(too_many(&field("options"), 25));
    }
    for (number, option) in options.iter().enumerate() {
        for name in ["label", "value", "description"] {
            let path = field(&format!("options.{number}.{name}"));
            at_most(option[name].as_str().unwrap_or_default(), &path, 100)?;
        }
    }
    Ok(())
}

/// Checks a form: its title, and one to five rows with one input each.
pub(super) fn form(data: &Value) -> Result<(), ApiError> {
    let title = text(data, "title", 1, 45)?;
    if title.is_none() {
        return Err(required("title"));
    }
    let rows = data["components"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if rows.is_empty() || rows.len() > 5 {
        return Err(too_many("components", 5));
    }
    for (index, row) in rows.iter().enumerate() {
        let input = &row["components"][0];
        let path = |name: &str| format!("components.{index}.components.0.{name}");
        at_most(
            input["label"].as_str().unwrap_or_default(),
            &path("label"),
            45,
        )?;
        at_most(
            input["placeholder"].as_str().unwrap_or_default(),
            &path("placeholder"),
            100,
        )?;
        at_most(
            input["value"].as_str().unwrap_or_default(),
            &path("value"),
            4_000,
        )?;
    }
    Ok(())
}

/// Checks the suggestions for an option.
pub(super) fn choices(list: &[Value]) -> Result<(), ApiError> {
    if list.len() > 25 {
        return Err(too_many("data.choices", 25));
    }
    for (index, choice) in list.iter().enumerate() {
        let name = choice["name"].as_str().unwrap_or_default();
        at_most(name, &format!("data.choices.{index}.name"), 100)?;
        if name.is_empty() {
            return Err(required(&format!("data.choices.{index}.name")));
        }
        let value = choice["value"].as_str().unwrap_or_default();
        at_most(value, &format!("data.choices.{index}.value"), 100)?;
    }
    Ok(())
}

fn at_most(text: &str, path: &str, most: usize) -> Result<(), ApiError> {
    if text.chars().count() <= most {
        return Ok(());
    }
    let words = format!("Must be {most} or fewer in length.");
    Err(ApiError::invalid(path, "BASE_TYPE_MAX_LENGTH", &words))
}

fn too_many(path: &str, most: usize) -> ApiError {
    ApiError::invalid(
        path,
        "BASE_TYPE_BAD_LENGTH",
        &format!("Must be between 1 and {most} in length."),
    )
}

pub(super) fn required(path: &str) -> ApiError {
    ApiError::invalid(path, "BASE_TYPE_REQUIRED", "This field is required")
}

//! Reads the arguments of a call as models write them: JSON, or something close to it with exactly one meaning.
//!
//! Ambiguous arguments are not repaired: the model gets an error and sends the call again.

use serde_json::{Map, Value};

use crate::domain::json_values;

/// Reads the arguments of a call.
///
/// # Errors
///
/// Fails with the JSON reader's error if the text is neither JSON nor one of the forms that [`repaired`] knows.
pub(super) fn read(text: &str) -> Result<Value, serde_json::Error> {
    let text = unfenced(text.trim());
    if text.is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let value = match parse(text) {
        Ok(value) => value,
        Err(error) => repaired(text).ok_or(error)?,
    };
    Ok(match value {
        // Some servers send these for a tool without parameters.
        Value::Null => Value::Object(Map::new()),
        Value::Array(list) if list.is_empty() => Value::Object(Map::new()),
        // JSON inside of a JSON string.
        Value::String(inner) if !json_values::are_few(&inner) => Value::String(inner),
        Value::String(inner) => match parse(inner.trim()) {
            Ok(value @ Value::Object(_)) => value,
            Ok(Value::Null) => Value::Object(Map::new()),
            _ if inner.trim().is_empty() => Value::Object(Map::new()),
            _ => Value::String(inner),
        },
        other => other,
    })
}

fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text)
}

/// Returns the object that `text` means, if it is several objects and one counts, or almost JSON.
fn repaired(text: &str) -> Option<Value> {
    if let Some(value) = the_one_object(text).or_else(|| before_leftovers(text)) {
        return Some(value);
    }
    // Its strings may end at other positions than those of `text`, so its values are counted again.
    let plain = normalised(text).filter(|plain| json_values::are_few(plain))?;
    parse(&plain).ok().or_else(|| the_one_object(&plain))
}

/// Returns the object of a sequence of equal objects, ignoring empty ones.
fn the_one_object(text: &str) -> Option<Value> {
    let mut only: Option<Value> = None;
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        match value.ok()? {
            Value::Object(map) if map.is_empty() => {}
            value @ Value::Object(_) if only.as_ref().is_none_or(|known| *known == value) => {
                only = Some(value);
            }
            _ => return None,
        }
    }
    Some(only.unwrap_or_else(|| Value::Object(Map::new())))
}

/// Returns the object at the beginning of `text`, if it is followed only by closing brackets, or by the mark that ends
/// a call in a model's own format.
fn before_leftovers(text: &str) -> Option<Value> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let rest = text[values.byte_offset()..].trim();
    let is_bracket = |letter: char| matches!(letter, '}' | ']') || letter.is_whitespace();
    let is_mark = (rest.starts_with("</") && rest.ends_with('>')
        || rest.starts_with("<|") && rest.ends_with("|>"))
        && !rest.contains(['{', '"']);
    (value.is_object() && (is_mark || rest.chars().all(is_bracket))).then_some(value)
}

/// Returns `text` without a code fence around it.
fn unfenced(text: &str) -> &str {
    let inner = || {
        let inner = text.strip_prefix("```")?.strip_suffix("```")?;
        let (language, body) = inner.split_once('\n')?;
        let is_language = language.trim().chars().all(char::is_alphanumeric);
        is_language.then(|| body.trim())
    };
    inner().unwrap_or(text)
}

/// Returns `text` as JSON. Changes: control characters in strings escaped, strings in single quotes in double ones,
/// commas before a closing bracket left out, names of fields quoted, Python's constants in JSON's spelling. `None` if a
/// string does not end.
fn normalised(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        match first {
            '"' | '\'' => {
                let (string, after) = string(rest, first)?;
                out.push('"');
                out.push_str(&string);
                out.push('"');
                rest = after;
            }
            ',' if rest[1..].trim_start().starts_with(['}', ']']) => rest = &rest[1..],
            letter if letter.is_ascii_alphabetic() => {
                let end = rest
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .unwrap_or(rest.len());
                let word = &rest[..end];
                let is_key = rest[end..].trim_start().starts_with(':');
                let quote = if is_key { "\"" } else { "" };
                out.push_str(quote);
                out.push_str(match word {
                    "True" if !is_key => "true",
                    "False" if !is_key => "false",
                    "None" if !is_key => "null",
                    word => word,
                });
                out.push_str(quote);
                rest = &rest[end..];
            }
            other => {
                out.push(other);
                rest = &rest[other.len_utf8()..];
            }
        }
    }
    Some(out)
}

/// Returns the inside of the string at the beginning of `text` in JSON's form, and the text after the string.
fn string(text: &str, quote: char) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            letter if letter == quote => return Some((out, &text[at + 1..])),
            '\\' => match letters.next()?.1 {
                // JSON has no such escape.
                '\'' => out.push('\''),
                escaped => {
                    out.push('\\');
                    out.push(escaped);
                }
            },
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => out.push_str(&format!("\\u{:04x}", control as u32)),
            other => out.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an array of more values than the calls of an answer may have.
    fn many() -> String {
        format!("[{}{{}}]", "{},".repeat(json_values::MOST_VALUES))
    }

    #[test]
    fn json_in_a_string_is_counted_before_it_is_read() {
        let text = serde_json::Value::String(format!("{{\"a\": {}}}", many())).to_string();
        assert!(json_values::are_few(&text));
        assert!(matches!(read(&text), Ok(Value::String(_))));
    }

    #[test]
    fn values_behind_an_odd_quote_are_counted_before_they_are_read() {
        let text = format!("{{'a': '\"', 'b': {}}}", many());
        assert!(json_values::are_few(&text));
        assert!(read(&text).is_err());
    }
}

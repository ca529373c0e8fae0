//! The result of a call as a model and a person get it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chorus_rpc::{items, members, text};
use serde_json::value::RawValue;

/// Blocks of one result.
const MAX_BLOCKS: usize = 1_000;

/// Pictures of one result.
const MAX_IMAGES: usize = 8;

/// Bytes of one picture.
const MAX_IMAGE: usize = 5 << 20;

/// Characters of a type or an address that are shown.
const SHOWN: usize = 200;

/// What a server answered to a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallResult {
    pub is_error: bool,
    /// In the server's order.
    pub given: Vec<Given>,
}

/// A part of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// Foreign text.
    Text(String),
    /// Structured content as JSON, where there is no text.
    Structured(String),
    Image(Attached),
    /// A sound or another file.
    File(Attached),
    /// What the server names and does not give.
    Link {
        uri: String,
        name: String,
    },
    /// What is not given on, in words.
    LeftOut(String),
}

/// Bytes with their type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// The type that the server claims, shortened.
    pub mime: String,
    pub bytes: Vec<u8>,
}

impl CallResult {
    /// Reads a result block by block. A block that cannot be read is named, and the others stay.
    ///
    /// # Errors
    ///
    /// When it is no object, or its content no list.
    pub(crate) fn read(result: &RawValue) -> Result<Self, serde_json::Error> {
        let [content, structured, is_error] =
            members(result, ["content", "structuredContent", "isError"])?;
        let mut given = Vec::new();
        let mut images = 0;
        if let Some(content) = content {
            let blocks = items(content, MAX_BLOCKS)?;
            given.extend(blocks.kept.iter().map(|raw| block(raw, &mut images)));
            if blocks.left_out > 0 {
                given.push(Given::LeftOut(format!("{} more blocks", blocks.left_out)));
            }
        }
        let has_text = given.iter().any(|part| matches!(part, Given::Text(_)));
        if let (false, Some(structured)) = (has_text, structured)
            && structured.get() != "null"
        {
            given.push(Given::Structured(structured.get().to_owned()));
        }
        Ok(Self {
            is_error: is_error.is_some_and(|value| value.get() == "true"),
            given,
        })
    }
}

fn block(raw: &RawValue, images: &mut usize) -> Given {
    let Ok([kind, said, data, mime, uri, name, resource]) = members(
        raw,
        [
            "type", "text", "data", "mimeType", "uri", "name", "resource",
        ],
    ) else {
        return Given::LeftOut("a block that is no object".to_owned());
    };
    let kind = text(kind).unwrap_or_default();
    let unread = || Given::LeftOut(format!("a block of type `{}`", shown(&kind)));
    match kind.as_str() {
        "text" => text(said).map_or_else(unread, Given::Text),
        "image" => match attached(data, mime) {
            Some(image) => {
                *images += 1;
                as_image(image, *images)
            }
            None => unread(),
        },
        "audio" => attached(data, mime).map_or_else(unread, Given::File),
        "resource_link" => Given::Link {
            uri: shown(&text(uri).unwrap_or_default()),
            name: shown(&text(name).unwrap_or_default()),
        },
        "resource" => resource.and_then(embedded).unwrap_or_else(unread),
        _ => unread(),
    }
}

fn as_image(image: Attached, place: usize) -> Given {
    if place > MAX_IMAGES {
        return Given::LeftOut(format!("a picture beyond the first {MAX_IMAGES}"));
    }
    if image.bytes.len() > MAX_IMAGE {
        return Given::LeftOut("a picture of more than 5 MiB".to_owned());
    }
    Given::Image(image)
}

fn embedded(resource: &RawValue) -> Option<Given> {
    let [said, blob, mime] = members(resource, ["text", "blob", "mimeType"]).ok()?;
    match text(said) {
        Some(text) => Some(Given::Text(text)),
        None => attached(blob, mime).map(Given::File),
    }
}

fn attached(data: Option<&RawValue>, mime: Option<&RawValue>) -> Option<Attached> {
    let bytes = STANDARD.decode(text(data)?).ok()?;
    let mime = shown(&text(mime).unwrap_or_default());
    Some(Attached { mime, bytes })
}

fn shown(text: &str) -> String {
    chorus_text::visible(&chorus_text::one_line(text, SHOWN)).0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::{Value, json};

    fn read(value: &Value) -> CallResult {
        CallResult::read(&RawValue::from_string(value.to_string()).unwrap()).unwrap()
    }

    #[test]
    fn every_block_is_given_or_named() {
        let result = read(&json!({"isError": true, "content": [
            {"type": "text", "text": "hello"},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "file:///a", "name": "a"},
            {"type": "resource", "resource": {"uri": "x", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "x", "blob": "aGk=", "mimeType": "a/b"}},
            {"type": "hologram"}, {"type": "image", "data": "%"}, 7,
        ]}));
        assert!(result.is_error);
        let attached = |mime: &str| Attached {
            mime: mime.to_owned(),
            bytes: b"hi".to_vec(),
        };
        let left_out = |what: &str| Given::LeftOut(what.to_owned());
        assert_eq!(
            result.given,
            [
                Given::Text("hello".to_owned()),
                Given::Image(attached("image/png")),
                Given::File(attached("audio/wav")),
                Given::Link {
                    uri: "file:///a".to_owned(),
                    name: "a".to_owned()
                },
                Given::Text("inside".to_owned()),
                Given::File(attached("a/b")),
                left_out("a block of type `hologram`"),
                left_out("a block of type `image`"),
                left_out("a block that is no object"),
            ]
        );
    }

    #[test]
    fn structured_content_stands_in_for_text_only() {
        let alone = read(&json!({"structuredContent": {"a": 1}}));
        assert_eq!(alone.given, [Given::Structured("{\"a\":1}".to_owned())]);
        let beside = read(
            &json!({"content": [{"type": "text", "text": "x"}], "structuredContent": {"a": 1}}),
        );
        assert_eq!(beside.given.len(), 1);
        assert_eq!(read(&json!({})), CallResult::default());
    }

    #[test]
    fn pictures_and_blocks_are_counted() {
        let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
        let result = read(&json!({"content": vec![image; 1_005]}));
        let pictures = result
            .given
            .iter()
            .filter(|part| matches!(part, Given::Image(_)))
            .count();
        assert_eq!(pictures, 8);
        assert_eq!(
            result.given.last(),
            Some(&Given::LeftOut("5 more blocks".to_owned()))
        );
    }
}

//! OpenRouter's `reasoning_details`: blocks of thinking, streamed in pieces, to be sent back unchanged.

use serde_json::{Map, Value};

use crate::llm::failure::ApiError;

/// Most blocks of one answer; more are treated as invalid.
const MAX_BLOCKS: usize = 4_096;

/// Fields that are joined from pieces. Every other field comes whole.
const JOINED: [&str; 2] = ["text", "summary"];

/// The blocks as far as they have been received.
#[derive(Debug, Default)]
pub(super) struct Details(Vec<Map<String, Value>>);

impl Details {
    /// Adds pieces: a piece with the same `index` and `type` as the latest block continues it.
    pub(super) fn add(&mut self, blocks: Vec<Value>) -> Result<(), ApiError> {
        for piece in blocks {
            let Value::Object(piece) = piece else {
                continue;
            };
            let is_full = self.0.len() >= MAX_BLOCKS;
            match self.0.last_mut() {
                Some(block) if continues(block, &piece) => extend(block, piece),
                _ if is_full => {
                    return Err(ApiError::invalid("the answer thinks in too many blocks"));
                }
                _ => self.0.push(piece),
            }
        }
        Ok(())
    }

    pub(super) fn whole(self) -> Vec<Value> {
        self.0.into_iter().map(Value::Object).collect()
    }
}

fn continues(block: &Map<String, Value>, piece: &Map<String, Value>) -> bool {
    let same = |key: &str| block.get(key) == piece.get(key);
    // Encrypted blocks and those without an index come whole.
    piece.contains_key("index") && same("index") && same("type") && !piece.contains_key("data")
}

fn extend(block: &mut Map<String, Value>, piece: Map<String, Value>) {
    for (key, value) in piece {
        if let Value::String(more) = &value
            && let Some(Value::String(so_far)) = block.get_mut(&key)
            && JOINED.contains(&key.as_str())
        {
            so_far.push_str(more);
        } else if !(value.is_null() && block.contains_key(&key)) {
            block.insert(key, value);
        }
    }
}

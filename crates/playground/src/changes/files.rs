//! Uploaded files, stored for download.

use crate::guild::{Attachment, File};
use crate::world::World;

impl World {
    /// Stores a file for download. If no type is given, it is derived from the name.
    pub(crate) fn store_file(
        &mut self,
        name: &str,
        content_type: Option<&str>,
        bytes: bytes::Bytes,
    ) -> Attachment {
        let id = self.next_id();
        let safe: String = name
            .chars()
            .map(|c| {
                if c.is_alphanumeric() || matches!(c, '.' | '-' | '_') {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        let content_type = content_type.unwrap_or_else(|| type_of(name)).to_owned();
        let stored = Attachment {
            id,
            name: safe.clone(),
            content_type: content_type.clone(),
            size: bytes.len(),
        };
        self.files.insert(
            id,
            File {
                name: safe,
                content_type,
                bytes,
            },
        );
        stored
    }
}

/// Returns the MIME type for a name's extension, as far as agents and the page need it.
fn type_of(name: &str) -> &'static str {
    let ending = name
        .rsplit('.')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    match ending.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "json" => "application/json",
        "md" => "text/markdown; charset=utf-8",
        "txt" | "log" | "rs" | "py" | "js" | "toml" | "yaml" | "yml" | "csv" | "sh" | "c" | "h" => {
            "text/plain; charset=utf-8"
        }
        "pdf" => "application/pdf",
        _ => "application/octet-stream",
    }
}

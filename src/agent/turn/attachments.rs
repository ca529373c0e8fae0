//! Files that came with a message: texts and pictures for the model, everything kept in the workspace.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tracing::warn;

use crate::domain::{Attachment, Image, Inbound};
use crate::text;

use super::super::identity::Identity;
use super::super::parts::Parts;

/// Largest text file whose words go into the conversation.
///
/// Longer ones are looked at with `view`, in pages, and do not fill the window for good.
const TEXT_MAX: usize = 64 << 10;

/// Largest picture a model is shown; providers refuse more.
const IMAGE_MAX: usize = 4 << 20;

/// Largest file fetched at all: Discord's own limit for members with a boosted server.
const FILE_MAX: u64 = 100 << 20;

/// Pictures of one message a model is shown.
const IMAGES: usize = 8;

/// What came of a message's files.
#[derive(Default)]
pub(super) struct Taken {
    /// All files, with the place where each was saved.
    pub files: Vec<Attachment>,
    /// Pictures for the model.
    pub images: Vec<Image>,
    texts: Vec<(String, String)>,
}

impl Taken {
    /// The message's own words, then those of its text files.
    pub fn with_texts(&self, mut content: String) -> String {
        for (name, words) in &self.texts {
            content.push_str(&format!("\n\n{name}:\n{}", text::fenced(words, "")));
        }
        content
    }
}

pub(super) async fn take_in(parts: &Parts, agent: &Identity, message: &Inbound) -> Taken {
    let mut taken = Taken::default();
    for attachment in &message.attachments {
        match fetch(parts, attachment).await {
            Ok(bytes) => taken.file(parts, agent, attachment, bytes).await,
            Err(reason) => {
                warn!(agent.id = %agent.id, "an attachment could not be fetched: {reason}");
                let name = text::one_line(&attachment.name, 200);
                taken
                    .texts
                    .push((name, format!("(this file could not be fetched: {reason})")));
            }
        }
    }
    taken
}

impl Taken {
    async fn file(
        &mut self,
        parts: &Parts,
        agent: &Identity,
        attachment: &Attachment,
        bytes: Vec<u8>,
    ) {
        let mut file = attachment.clone();
        file.url.clear();
        file.size = bytes.len() as u64;
        match parts.save_upload(agent, &attachment.name, &bytes).await {
            Ok(path) => file.saved_as = Some(path),
            Err(reason) => {
                warn!(agent.id = %agent.id, "an attachment could not be saved: {reason}");
                let name = text::one_line(&attachment.name, 200);
                self.texts
                    .push((name, format!("(this file could not be saved: {reason})")));
            }
        }
        let kind = infer::get(&bytes).map(|kind| kind.mime_type());
        let seen = matches!(
            kind,
            Some("image/png" | "image/jpeg" | "image/gif" | "image/webp")
        );
        match kind {
            Some(media_type) if seen && bytes.len() <= IMAGE_MAX && self.images.len() < IMAGES => {
                self.images.push(Image {
                    media_type: media_type.to_owned(),
                    data: STANDARD.encode(&bytes),
                });
            }
            Some(_) => {}
            None => self.text(&attachment.name, bytes),
        }
        self.files.push(file);
    }

    fn text(&mut self, name: &str, bytes: Vec<u8>) {
        if bytes.len() > TEXT_MAX || bytes.contains(&0) {
            return;
        }
        if let Ok(words) = String::from_utf8(bytes) {
            self.texts.push((text::one_line(name, 200), words));
        }
    }
}

async fn fetch(parts: &Parts, attachment: &Attachment) -> Result<Vec<u8>, String> {
    if attachment.size > FILE_MAX {
        return Err(format!("it is larger than {}", text::bytes(FILE_MAX)));
    }
    let said = |error: reqwest::Error| error.without_url().to_string();
    let mut response = parts
        .http
        .get(&attachment.url)
        .send()
        .await
        .and_then(reqwest::Response::error_for_status)
        .map_err(said)?;
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(said)? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() as u64 > FILE_MAX {
            return Err(format!("it is larger than {}", text::bytes(FILE_MAX)));
        }
    }
    Ok(bytes)
}

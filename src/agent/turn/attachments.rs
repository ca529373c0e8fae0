//! Files that came with a message: texts and pictures for the model, all of them kept in the workspace.

use std::fs::File;
use std::io;

use tokio::io::AsyncWriteExt as _;
use tokio::task::spawn_blocking;
use tracing::warn;

use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::domain::{Attachment, Image, Inbound};
use crate::text;
use crate::tools::pictures;

/// Largest picture a model is shown, in bytes. It is made smaller first.
const IMAGE_MAX: usize = 20 << 20;

/// Largest file fetched at all: Discord's own limit for members with a boosted server.
const FILE_MAX: u64 = 100 << 20;

/// Pictures of one message a model is shown.
const IMAGES: usize = 8;

/// A message's files after they were fetched.
#[derive(Default)]
pub(super) struct Taken {
    /// All files, with the place where each was saved.
    pub files: Vec<Attachment>,
    /// Pictures for the model.
    pub images: Vec<Image>,
    texts: Vec<(String, String)>,
    /// Largest text file, in bytes, whose content goes into the conversation.
    text_max: usize,
}

impl Taken {
    /// The message's own words, then those of its text files.
    pub(super) fn with_texts(&self, mut content: String) -> String {
        for (name, words) in &self.texts {
            content.push_str(&format!("\n\n{name}:\n{}", text::fenced(words, "")));
        }
        content
    }
}

/// Fetches a message's files; texts of at most `text_max` bytes go into the conversation.
pub(super) async fn take_in(
    deps: &AgentDeps,
    agent: &Identity,
    message: &Inbound,
    text_max: usize,
) -> Taken {
    let mut taken = Taken {
        text_max,
        ..Taken::default()
    };
    for attachment in &message.attachments {
        match fetch(deps, agent, attachment).await {
            Ok(fetched) => taken.file(deps, agent, attachment, fetched).await,
            Err(reason) => {
                warn!(agent.id = %agent.id, "failed to fetch an attachment: {reason}");
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
        deps: &AgentDeps,
        agent: &Identity,
        attachment: &Attachment,
        fetched: Fetched,
    ) {
        let Fetched {
            content,
            size,
            head,
        } = fetched;
        let mut file = attachment.clone();
        file.url.clear();
        file.size = size;
        match deps.save_upload(agent, &attachment.name, content).await {
            Ok(path) => file.saved_as = Some(path),
            Err(reason) => {
                warn!(agent.id = %agent.id, "failed to save an attachment: {reason}");
                let name = text::one_line(&attachment.name, 200);
                self.texts
                    .push((name, format!("(this file could not be saved: {reason})")));
            }
        }
        let is_picture = pictures::media_type(&head).is_some();
        if is_picture && head.len() <= IMAGE_MAX && self.images.len() < IMAGES {
            match pictures::fit(&deps.services.workers, agent.id, &head).await {
                Ok(image) => self.images.push(image),
                Err(error) => {
                    let name = text::one_line(&attachment.name, 200);
                    self.texts
                        .push((name, format!("(this picture cannot be shown: {error})")));
                }
            }
        } else if infer::get(&head).is_none() {
            self.text(&attachment.name, head);
        }
        self.files.push(file);
    }

    fn text(&mut self, name: &str, bytes: Vec<u8>) {
        if bytes.len() > self.text_max || bytes.contains(&0) {
            return;
        }
        if let Ok(words) = String::from_utf8(bytes) {
            self.texts.push((text::one_line(name, 200), words));
        }
    }
}

/// A file that was fetched.
struct Fetched {
    /// The whole content, in a file without a name.
    content: File,
    size: u64,
    /// Its first bytes: all of it where a model may be shown it, and one byte more than [`IMAGE_MAX`] of a larger one.
    head: Vec<u8>,
}

/// Why a file could not be fetched.
#[derive(Debug, thiserror::Error)]
enum FetchError {
    #[error("it is larger than {}", text::bytes(FILE_MAX))]
    TooLarge,
    /// Without the address, with which anybody could fetch the file.
    #[error("{}", text::with_causes(.0))]
    Http(reqwest::Error),
    #[error("{0}")]
    Disk(#[from] io::Error),
}

impl From<reqwest::Error> for FetchError {
    fn from(error: reqwest::Error) -> Self {
        Self::Http(error.without_url())
    }
}

/// Fetches a file to the disk, not into memory: ten of the largest are a gigabyte.
async fn fetch(
    deps: &AgentDeps,
    agent: &Identity,
    attachment: &Attachment,
) -> Result<Fetched, FetchError> {
    if attachment.size > FILE_MAX {
        return Err(FetchError::TooLarge);
    }
    let mut response = deps
        .http
        .get(&attachment.url)
        .send()
        .await
        .and_then(reqwest::Response::error_for_status)?;
    // Next to the workspace, on the disk that has room for files.
    let folder = deps.folder(agent);
    let content =
        spawn_blocking(|| tempfile::tempfile_in(folder).or_else(|_| tempfile::tempfile()));
    let content = content.await.map_err(io::Error::from)??;
    let mut content = tokio::fs::File::from_std(content);
    let (mut size, mut head) = (0, Vec::new());
    while let Some(chunk) = response.chunk().await? {
        size += chunk.len() as u64;
        if size > FILE_MAX {
            return Err(FetchError::TooLarge);
        }
        let shown = chunk.len().min(IMAGE_MAX + 1 - head.len());
        head.extend_from_slice(&chunk[..shown]);
        content.write_all(&chunk).await?;
    }
    content.flush().await?;
    Ok(Fetched {
        content: content.into_std().await,
        size,
        head,
    })
}

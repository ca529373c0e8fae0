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
pub(in crate::agent) struct Taken {
    /// All files, with the place where each was saved.
    pub files: Vec<Attachment>,
    /// Pictures for the model.
    pub images: Vec<Image>,
    texts: Vec<(String, Words)>,
    /// Most bytes of a text file that go into the conversation.
    text_max: usize,
}

/// What the model reads of a file besides its name.
enum Words {
    /// The content, byte for byte.
    Whole(String),
    /// The beginning and the end of the content, and how many bytes are left out between them.
    Ends {
        head: String,
        left_out: u64,
        tail: String,
    },
    /// Why there is no content.
    Fault(String),
}

impl Taken {
    /// The message's own words, then those of its text files.
    pub(in crate::agent) fn with_texts(&self, mut content: String) -> String {
        for (name, words) in &self.texts {
            content.push_str(&format!("\n\n{name}:\n"));
            match words {
                Words::Whole(words) => content.push_str(&verbatim(words)),
                Words::Ends {
                    head,
                    left_out,
                    tail,
                } => {
                    content.push_str(&verbatim(head));
                    content.push_str(&format!("\n({left_out} bytes are left out here)\n"));
                    if !tail.is_empty() {
                        content.push_str(&verbatim(tail));
                    }
                }
                Words::Fault(why) => content.push_str(&format!("({why})")),
            }
        }
        content
    }
}

/// `words` as they are, between fences that are longer than any run of backticks in them.
fn verbatim(words: &str) -> String {
    let runs = words.split(|letter| letter != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    let end = if words.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{words}{end}{fence}")
}

/// Fetches a message's files; texts of at most `text_max` bytes go into the conversation.
pub(in crate::agent) async fn take_in(
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
                taken.texts.push((
                    name,
                    Words::Fault(format!("this file could not be fetched: {reason}")),
                ));
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
                self.texts.push((
                    name,
                    Words::Fault(format!("this file could not be saved: {reason}")),
                ));
            }
        }
        let is_picture = pictures::media_type(&head).is_some();
        if is_picture && head.len() <= IMAGE_MAX && self.images.len() < IMAGES {
            match pictures::fit(&deps.services.workers, agent.id, &head).await {
                Ok(image) => self.images.push(image),
                Err(error) => {
                    let name = text::one_line(&attachment.name, 200);
                    self.texts.push((
                        name,
                        Words::Fault(format!("this picture cannot be shown: {error}")),
                    ));
                }
            }
        } else if infer::get(&head).is_none() {
            self.text(&attachment.name, size, head);
        }
        self.files.push(file);
    }

    /// Adds a text file of `size` bytes that begins with `head`: whole, or its beginning and end.
    fn text(&mut self, name: &str, size: u64, head: Vec<u8>) {
        if head.contains(&0) {
            return;
        }
        let is_whole = head.len() as u64 == size;
        let text = match String::from_utf8(head) {
            Ok(text) => text,
            // What was read of a longer file may end within a letter.
            Err(error) if !is_whole && error.utf8_error().error_len().is_none() => {
                let end = error.utf8_error().valid_up_to();
                String::from_utf8_lossy(&error.as_bytes()[..end]).into_owned()
            }
            Err(_) => return,
        };
        let words = if is_whole && text.len() <= self.text_max {
            Words::Whole(text)
        } else {
            self.ends(&text, size)
        };
        self.texts.push((text::one_line(name, 200), words));
    }

    /// The beginning and the end of a file of `size` bytes, of which `text` was read. A file that was not read to its end has
    /// no end here.
    fn ends(&self, text: &str, size: u64) -> Words {
        let is_whole = text.len() as u64 == size;
        let last = if is_whole { self.text_max / 4 } else { 0 };
        let head = &text[..text.floor_char_boundary(self.text_max - last)];
        let tail = &text[text.ceil_char_boundary(text.len() - last)..];
        Words::Ends {
            head: head.to_owned(),
            left_out: size.saturating_sub((head.len() + tail.len()) as u64),
            tail: tail.to_owned(),
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

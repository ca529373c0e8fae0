//! `view`: shows a file, a folder or a picture.

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::Image;
use crate::permission::{Action, Group};
use crate::text;
use crate::tools::error::ToolError;
use crate::tools::{Output, PathArgument, Tool, ToolContext};
use crate::tools::{files, lines};
use crate::workspace::instructions;
use crate::workspace::jail::{Kind, MOST_NAMES};
use crate::workspace::{Jail, WorkspacePath};

/// Lines of a page when the call names no number.
const PAGE: usize = 1_000;

/// Bytes of a page, below the output cap: a page is never cut again.
const LONGEST_PAGE: usize = 40_000;

/// Largest picture, in bytes, that providers accept (5 MB once in Base64).
const LARGEST_IMAGE: usize = 3_700_000;

/// Names of a folder that are listed.
const MOST_LISTED: usize = 1_000;

pub(super) struct View;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    path: String,
    /// First line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<usize>,
    /// Lines (1000).
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<usize>,
}

#[async_trait]
impl Tool for View {
    type Args = Args;

    const NAME: &'static str = "view";
    const DESCRIPTION: &'static str =
        "Show a file with line numbers, a picture, or what is in a folder (`.`).";
    const GROUP: Group = Group::Files;

    fn action(args: &Args) -> Action {
        Action::new(Self::NAME, files::normal(&args.path))
    }

    fn path_argument(args: &Args) -> Option<PathArgument> {
        Some(PathArgument::file(&*args.path))
    }

    fn put_path(args: &mut Args, reached: &WorkspacePath) {
        args.path = reached.to_string();
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let Args {
            path,
            offset,
            limit,
        } = args;
        let hears = context.config.repo_instructions.unwrap_or(true);
        let shown = files::at(context, &path, move |jail, path| {
            let is_folder = jail.kind(path)? == Kind::Folder;
            let shown = if is_folder {
                folder(jail, path).map(Output::from)
            } else {
                file(jail, path, offset, limit)
            };
            let nearest = hears.then(|| instructions::nearest(jail, path, is_folder));
            Ok((shown?, nearest.flatten(), path.to_string()))
        });
        let (mut shown, nearest, path) = shown.await?;
        if let Some(nearest) = nearest
            && (context.services.instructions).is_news(context.conversation, &nearest)
            && nearest != path
        {
            shown.text.push_str(&hint(&nearest));
        }
        Ok(shown)
    }
}

/// What the model is told about instructions when it first looks at something to which they are nearest.
fn hint(nearest: &str) -> String {
    let (folder, _) = nearest.rsplit_once('/').unwrap_or_default();
    format!(
        "\n[`{nearest}` has advice on what lies below `{folder}`, and grants nothing; view it before you change something there.]"
    )
}

fn file(
    jail: &Jail,
    path: &WorkspacePath,
    offset: Option<usize>,
    limit: Option<usize>,
) -> Result<Output, ToolError> {
    let mut whole = files::whole(jail, path, files::MOST_SHOWN)?;
    let bytes = std::mem::take(&mut whole.contents.bytes);
    if let Some(image) = image(&bytes) {
        return picture(path, image, &bytes);
    }
    let text = files::text_of(path, bytes)?;
    let first = offset.unwrap_or(1).max(1);
    page(path, &text, first, limit.unwrap_or(PAGE)).map(Output::from)
}

fn folder(jail: &Jail, path: &WorkspacePath) -> Result<String, ToolError> {
    let entries = jail.list(path)?;
    if entries.is_empty() {
        return Ok(format!("`{path}` is an empty folder."));
    }
    let mut listing = format!("{path}/:");
    for entry in entries.iter().take(MOST_LISTED) {
        listing.push('\n');
        listing.push_str(&entry.shown);
    }
    if entries.len() > MOST_LISTED {
        let at_least = if entries.len() == MOST_NAMES {
            "at least "
        } else {
            ""
        };
        let more = entries.len() - MOST_LISTED;
        listing.push_str(&format!(
            "\n[{at_least}{more} more; use glob to narrow it down]"
        ));
    }
    Ok(listing)
}

/// The media type, when models can see such a picture.
fn image(bytes: &[u8]) -> Option<&'static str> {
    let kind = infer::get(bytes)?.mime_type();
    ["image/png", "image/jpeg", "image/gif", "image/webp"]
        .into_iter()
        .find(|known| *known == kind)
}

fn picture(path: &WorkspacePath, media_type: &str, bytes: &[u8]) -> Result<Output, ToolError> {
    let size = text::bytes(bytes.len() as u64);
    if bytes.len() > LARGEST_IMAGE {
        return Err(ToolError::Rejected(format!(
            "`{path}` is a picture of {size}, too large to be shown; make it smaller than 3.7 MB first"
        )));
    }
    Ok(Output {
        text: format!("`{path}`: {media_type}, {size}"),
        images: vec![Image {
            media_type: media_type.to_owned(),
            data: STANDARD.encode(bytes),
        }],
    })
}

fn page(path: &WorkspacePath, text: &str, first: usize, limit: usize) -> Result<String, ToolError> {
    let all = lines::count(text);
    if all == 0 {
        return Ok(format!("`{path}` is empty."));
    }
    if first > all {
        return Err(ToolError::Rejected(format!(
            "`{path}` has only {}",
            lines::counted(all)
        )));
    }
    let mut page = String::new();
    let mut next = first;
    for line in text.lines().skip(first - 1).take(limit) {
        if page.len() >= LONGEST_PAGE {
            break;
        }
        page.push_str(&lines::numbered(next, line));
        page.push('\n');
        next += 1;
    }
    if next <= all {
        page.push_str(&format!(
            "[lines {first} to {} of {all}; more: offset {next}]",
            next - 1,
        ));
    }
    Ok(page.trim_end().to_owned())
}

//! `view`: shows a file, a folder or a picture.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exec::WorkError;
use crate::permission::{Action, Group};
use crate::text;
use crate::tools::error::ToolError;
use crate::tools::{Output, PathArgument, Tool, ToolContext};
use crate::tools::{files, lines, pictures};
use crate::workspace::instructions;
use crate::workspace::jail::{Kind, MOST_NAMES};
use crate::workspace::{Jail, WorkspacePath};

/// Default number of lines of a page.
const PAGE: usize = 1_000;

/// Most bytes of a page, below the output cap: a page is never cut again.
const LONGEST_PAGE: usize = 40_000;

/// Most names of a folder that are listed.
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
                folder(jail, path).map(Shown::Text)
            } else {
                file(jail, path, offset, limit)
            };
            let nearest = hears.then(|| instructions::nearest(jail, path, is_folder));
            Ok((shown?, nearest.flatten(), path.to_string()))
        });
        let (shown, nearest, path) = shown.await?;
        let mut shown = match shown {
            Shown::Text(text) => Output::from(text),
            Shown::Picture(bytes) => picture(context, &path, &bytes).await?,
        };
        if let Some(nearest) = nearest
            && (context.services.instructions).is_news(context.conversation, &nearest)
            && nearest != path
        {
            shown.text.push_str(&hint(&nearest));
        }
        Ok(shown)
    }
}

/// The content that is shown of a path.
enum Shown {
    Text(String),
    Picture(Vec<u8>),
}

/// Returns the model's hint about instructions when it first reads something to which they are nearest.
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
) -> Result<Shown, ToolError> {
    let mut whole = files::whole(jail, path, files::MOST_SHOWN)?;
    let bytes = std::mem::take(&mut whole.contents.bytes);
    if pictures::media_type(&bytes).is_some() {
        return Ok(Shown::Picture(bytes));
    }
    let text = files::text_of(path, bytes)?;
    let first = offset.unwrap_or(1).max(1);
    page(path, &text, first, limit.unwrap_or(PAGE)).map(Shown::Text)
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

/// Returns a picture in a form that every provider accepts.
async fn picture(context: &ToolContext, path: &str, bytes: &[u8]) -> Result<Output, ToolError> {
    let image = pictures::fit(&context.services.workers, context.agent, bytes).await;
    let image = image.map_err(|error| match error {
        WorkError::Refused(why) => ToolError::Rejected(format!("`{path}` cannot be shown: {why}")),
        other => other.into(),
    })?;
    let size = text::bytes(bytes.len() as u64);
    let kind = &image.media_type;
    Ok(Output {
        text: format!("`{path}`: {kind}, {size}"),
        images: vec![image],
        effect: None,
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

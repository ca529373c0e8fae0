//! `glob`: finds files by name.

use std::path::PathBuf;

use async_trait::async_trait;
use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exec::WorkLimits;
use crate::permission::{Action, Group};
use crate::tools::error::ToolError;
use crate::tools::files::{self, Denied};
use crate::tools::work::{self, Work};
use crate::tools::{Output, PathArgument, Tool, ToolContext};
use crate::workspace::walk::{self, Step, Walked};
use crate::workspace::{Workspace, WorkspacePath};

/// Most paths that are listed.
const MOST: usize = 1_000;

pub(super) struct Glob;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    /// Like `src/**/*.rs`; without `/` it matches names at any depth.
    pattern: String,
    /// Folder to search.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

#[async_trait]
impl Tool for Glob {
    type Args = Args;

    const NAME: &'static str = "glob";
    const DESCRIPTION: &'static str = "Find files by name; heeds .gitignore.";
    const GROUP: Group = Group::Files;

    fn action(args: &Args) -> Action {
        Action::new(
            Self::NAME,
            files::normal(args.path.as_deref().unwrap_or(".")),
        )
    }

    fn path_argument(args: &Args) -> Option<PathArgument> {
        args.path.as_deref().map(PathArgument::file)
    }

    fn put_path(args: &mut Args, reached: &WorkspacePath) {
        args.path = Some(reached.to_string());
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let listing = Listing {
            folder: context.services.folder(context),
            denied: Denied::of(context, Self::NAME),
            args,
        };
        let found = context.by_worker(&listing, &[]).await?;
        Ok(found.into())
    }
}

/// A list of files in an agent's workspace.
#[derive(Deserialize, Serialize)]
pub(in crate::tools) struct Listing {
    /// The agent's folder.
    folder: PathBuf,
    denied: Denied,
    args: Args,
}

impl Work for Listing {
    const NAME: &'static str = "glob";
    const LIMITS: WorkLimits = work::TEXT;

    fn run(self, _: &[u8]) -> Result<String, ToolError> {
        let Args { pattern, path } = self.args;
        let matcher = Pattern::new("pattern", &pattern)?;
        let path = WorkspacePath::parse(path.as_deref().unwrap_or("."))?;
        let workspace = Workspace::open(&self.folder).map_err(ToolError::failed)?;
        let skipped = self.denied.compile(Self::NAME)?;
        let mut found = Vec::new();
        let folder = workspace.files()?.folder(&path)?;
        let walked = walk::files(&folder, &path, &|below| skipped.has(below), &mut |file| {
            if found.len() == MOST {
                return Step::Enough;
            }
            if matcher.matches(&path, file) {
                found.push(file.to_string());
            }
            Step::On
        });
        if found.is_empty() && walked == Walked::Partly {
            return Ok(format!(
                "No file among the first ones below `{path}` matches `{pattern}`; there are too many to look at all, so narrow the folder."
            ));
        }
        if found.is_empty() {
            found.push(format!("No file below `{path}` matches `{pattern}`."));
        } else if walked == Walked::Partly {
            found.push("[there may be more; narrow the pattern or the folder]".into());
        }
        found.extend(skipped.note().map(str::to_owned));
        Ok(found.join("\n"))
    }
}

/// A glob on paths below a folder, or only on names if it has no `/`.
pub(super) struct Pattern {
    matcher: GlobMatcher,
    is_on_names: bool,
}

impl Pattern {
    /// Compiles `text`, the value of `argument`.
    pub(super) fn new(argument: &str, text: &str) -> Result<Self, ToolError> {
        let glob = GlobBuilder::new(text)
            .literal_separator(true)
            .build()
            .map_err(|error| ToolError::Rejected(format!("`{argument}` is not a glob: {error}")))?;
        Ok(Self {
            matcher: glob.compile_matcher(),
            is_on_names: !text.contains('/'),
        })
    }

    /// Returns whether `file`, which is below `folder`, matches.
    pub(super) fn matches(&self, folder: &WorkspacePath, file: &WorkspacePath) -> bool {
        let path = file.as_str();
        if self.is_on_names {
            return self
                .matcher
                .is_match(path.rsplit('/').next().unwrap_or(path));
        }
        let below = if folder.is_root() {
            path
        } else {
            path.get(folder.as_str().len() + 1..).unwrap_or(path)
        };
        self.matcher.is_match(below)
    }
}

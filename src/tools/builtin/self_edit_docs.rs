//! `self_edit_docs`: the agent writes its own notes.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::{Action, Group};
use crate::text;
use crate::tools::change::Change;
use crate::tools::error::ToolError;
use crate::tools::files;
use crate::tools::{Output, PathArgument, PathKind, Tool, ToolContext};
use crate::workspace::WorkspacePath;
use crate::workspace::docs::MOST_BYTES;
use crate::workspace::jail::Written;

/// Largest note, in bytes, that its audit row describes; people may have written larger ones there.
const LONGEST_NOTE: u64 = 1024 * 1024;

pub(super) struct SelfEditDocs;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    /// Below docs/.
    path: String,
    content: String,
}

impl Args {
    /// Returns the path below `docs/`: notes have that prefix in their headings, and models copy it.
    fn below_docs(&self) -> &str {
        self.path.strip_prefix("docs/").unwrap_or(&self.path)
    }

    fn normal(&self) -> String {
        files::normal(self.below_docs())
    }
}

#[async_trait]
impl Tool for SelfEditDocs {
    type Args = Args;

    const NAME: &'static str = "self_edit_docs";
    const DESCRIPTION: &'static str =
        "Write a file of your notes (docs/), which stand in every request.";
    const GROUP: Group = Group::Docs;
    const SUBJECT: &'static str = "self_edit:docs";

    fn action(args: &Args) -> Action {
        Action::new("self_edit", format!("docs:{}", args.normal()))
    }

    fn path_argument(args: &Args) -> Option<PathArgument> {
        Some(PathArgument {
            kind: PathKind::Note,
            written: args.below_docs().to_owned(),
        })
    }

    fn put_path(args: &mut Args, reached: &WorkspacePath) {
        args.path = format!("docs/{reached}");
    }

    fn writes(args: &Args) -> Option<String> {
        Some(format!("../docs/{}", args.normal()))
    }

    async fn change(&self, args: &Args, context: &ToolContext) -> Option<Change> {
        let path = WorkspacePath::parse(args.below_docs()).ok()?;
        let read = files::blocking(context, move |workspace| {
            let contents = workspace.docs()?.read(&path, LONGEST_NOTE)?;
            Ok(String::from_utf8_lossy(&contents.bytes).into_owned())
        });
        Some(Change {
            edited: format!("docs:{}", args.normal()),
            old: read.await.unwrap_or_default(),
            new: args.content.clone(),
        })
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let path = WorkspacePath::parse(args.below_docs())?;
        if args.content.len() > MOST_BYTES {
            return Err(ToolError::Rejected(format!(
                "`content` has {}, notes may have 64 KiB in all; move what is needed rarely to the workspace",
                text::bytes(args.content.len() as u64)
            )));
        }
        let done = files::blocking(context, move |workspace| {
            let written = workspace.docs()?.write(&path, args.content.as_bytes())?;
            Ok(match written {
                Written::Created => format!("Created docs/{path}."),
                Written::Replaced => format!("Replaced docs/{path}."),
            })
        });
        done.await.map(Output::from)
    }
}

//! Shared by the tools that write one file: how they are judged, locked and run, and how an edit is made.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::ToolError;
use super::{Output, PathArgument, Tool, ToolContext};
use super::{files, line_changes, lines};
use crate::domain::Effect;
use crate::permission::{Action, Group};
use crate::workspace::{Jail, WorkspacePath};

/// A tool that writes one file of the workspace.
pub trait WriteFile: Send + Sync + 'static {
    /// See [`Tool::Args`].
    type Args: DeserializeOwned + Serialize + JsonSchema + Send + Sync + 'static;

    /// See [`Tool::NAME`].
    const NAME: &'static str;
    /// See [`Tool::DESCRIPTION`].
    const DESCRIPTION: &'static str;

    /// Returns the file, as the model wrote it.
    fn path(args: &Self::Args) -> &str;

    /// Returns the same as a mutable reference, to replace it by its target.
    fn path_mut(args: &mut Self::Args) -> &mut String;

    /// Writes it, and returns what was done.
    fn write(args: &Self::Args, jail: &Jail, path: &WorkspacePath) -> Result<String, ToolError>;
}

#[async_trait]
impl<T: WriteFile> Tool for T {
    type Args = <T as WriteFile>::Args;

    const NAME: &'static str = <T as WriteFile>::NAME;
    const DESCRIPTION: &'static str = <T as WriteFile>::DESCRIPTION;
    const GROUP: Group = Group::Files;

    fn action(args: &Self::Args) -> Action {
        Action::new(<T as WriteFile>::NAME, files::normal(T::path(args)))
    }

    fn path_argument(args: &Self::Args) -> Option<PathArgument> {
        Some(PathArgument::file(T::path(args)))
    }

    fn put_path(args: &mut Self::Args, reached: &WorkspacePath) {
        *T::path_mut(args) = reached.to_string();
    }

    fn writes(args: &Self::Args) -> Option<String> {
        Some(files::normal(T::path(args)))
    }

    async fn run(&self, args: Self::Args, context: &ToolContext) -> Result<Output, ToolError> {
        let path = T::path(&args).to_owned();
        let done = files::at(context, &path, move |jail, path| {
            let before = line_changes::text_at(jail, path);
            let told = T::write(&args, jail, path)?;
            let after = line_changes::text_at(jail, path);
            let change = line_changes::between(path, before.as_deref(), after.as_deref());
            let effect = Effect::default().with_files(vec![change]);
            Ok(Output::from(told).with_effect(effect))
        });
        done.await
    }
}

/// A changed text, and the answer to the model.
pub(super) struct Edited {
    pub(super) text: String,
    /// The text about the change.
    pub(super) told: String,
}

impl Edited {
    /// Returns `text` with its lines `first` to `last` shown, and some lines around them.
    pub(super) fn showing(path: &WorkspacePath, text: String, first: usize, last: usize) -> Self {
        let told = format!("Edited `{path}`:\n{}", lines::around(&text, first, last));
        Self { text, told }
    }
}

/// Passes the text of a file to `change`, and writes the result to the file.
pub(super) fn edit(
    jail: &Jail,
    path: &WorkspacePath,
    change: impl FnOnce(&str) -> Result<Edited, ToolError>,
) -> Result<String, ToolError> {
    let mut whole = files::whole(jail, path, files::MOST_EDITED)?;
    let text = files::text_of(path, std::mem::take(&mut whole.contents.bytes))?;
    let Edited { text, told } = change(&text)?;
    jail.replace(&whole.contents, text.as_bytes())?;
    Ok(told)
}

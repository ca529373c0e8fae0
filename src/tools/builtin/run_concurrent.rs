//! `run_concurrent`: starts a command that runs beside the turn and reports back into its conversation.

use async_trait::async_trait;

use crate::permission::{Action, Group};
use crate::store::TaskKind;
use crate::tools::error::ToolError;
use crate::tools::run_task::{self, Args};
use crate::tools::{Output, PathArgument, Tool, ToolContext};
use crate::workspace::WorkspacePath;

pub(super) struct RunConcurrent;

#[async_trait]
impl Tool for RunConcurrent {
    type Args = Args;

    const NAME: &'static str = "run_concurrent";
    const DESCRIPTION: &'static str =
        "Start a command and go on; its end is reported into this conversation.";
    const GROUP: Group = Group::Tasks;

    fn action(args: &Args) -> Action {
        args.action(Self::NAME)
    }

    fn path_argument(args: &Args) -> Option<PathArgument> {
        args.folder()
    }

    fn put_path(args: &mut Args, reached: &WorkspacePath) {
        args.put_folder(reached);
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        run_task::start(TaskKind::Concurrent, &Self::action(&args), &args, context).await
    }
}

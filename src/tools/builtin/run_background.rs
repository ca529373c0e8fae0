//! `run_background`: starts a command that outlives the turn, such as a server.

use async_trait::async_trait;

use crate::permission::{Action, Group};
use crate::store::TaskKind;
use crate::tools::error::ToolError;
use crate::tools::run_task::{self, Args};
use crate::tools::{Output, PathArgument, Tool, ToolContext};
use crate::workspace::WorkspacePath;

pub(super) struct RunBackground;

#[async_trait]
impl Tool for RunBackground {
    type Args = Args;

    const NAME: &'static str = "run_background";
    const DESCRIPTION: &'static str =
        "Start a command that goes on after the turn, such as a server or a long training.";
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
        run_task::start(TaskKind::Background, &Self::action(&args), &args, context).await
    }
}

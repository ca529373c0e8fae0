//! `run_concurrent`: a command that runs beside the turn and reports back into its conversation.

use async_trait::async_trait;

use crate::permission::{Action, Group};
use crate::store::TaskKind;
use crate::tools::error::ToolError;
use crate::tools::run_task::{self, Args};
use crate::tools::{Output, Tool, ToolContext};

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

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        run_task::start(TaskKind::Concurrent, &Self::action(&args), &args, context).await
    }
}

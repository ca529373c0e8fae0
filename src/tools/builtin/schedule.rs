//! `schedule`: sets reminders for people, or schedules turns of this agent.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::{Action, Group};
use crate::tools::error::ToolError;
use crate::tools::gate;
use crate::tools::ports::{Plan, PlanKind};
use crate::tools::{Output, Tool, ToolContext};

/// The name of the tool.
pub(in crate::tools) const NAME: &str = "schedule";

pub(super) struct Schedule;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum Do {
    Create,
    Remind,
    Delete,
    List,
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    action: Do,
    /// in 20 minutes, at 18:00, tomorrow at 9am, 24.12.2026 18:00, every weekday at 7:00, every 2 hours, or cron.
    #[serde(skip_serializing_if = "Option::is_none")]
    when: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// What you are to do then, or the reminder's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    /// create: a command; no output, no turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<String>,
    /// IANA name (the server's).
    #[serde(skip_serializing_if = "Option::is_none")]
    timezone: Option<String>,
}

impl Args {
    /// Returns its plan; `None` if it plans nothing.
    fn plan(&self) -> Option<Plan> {
        let kind = match self.action {
            Do::Create => PlanKind::Turn,
            Do::Remind => PlanKind::Reminder,
            Do::Delete | Do::List => return None,
        };
        Some(Plan {
            kind,
            when: self.when.clone().unwrap_or_default(),
            name: self.name.clone(),
            prompt: self.prompt.clone().unwrap_or_default(),
            gate: self.gate.clone().filter(|gate| !gate.trim().is_empty()),
            timezone: self.timezone.clone(),
        })
    }
}

#[async_trait]
impl Tool for Schedule {
    type Args = Args;

    const NAME: &'static str = NAME;
    const DESCRIPTION: &'static str =
        "Remind the person, or do something yourself, at a time: once or again and again.";
    const GROUP: Group = Group::Schedule;
    const COMMAND: Option<&'static str> = Some("/schedule new");
    const BY_PEOPLE: bool = true;

    fn action(args: &Args) -> Action {
        let when = args.when.as_deref().unwrap_or_default();
        let name = args.name.as_deref().unwrap_or_default();
        let detail = match args.action {
            Do::Create => format!("create {when}"),
            Do::Remind => format!("remind {when}"),
            Do::Delete => format!("delete {name}"),
            Do::List => "list".to_owned(),
        };
        let action = Action::new(NAME, detail);
        match (args.action, &args.gate) {
            // Its command runs without a further question.
            (Do::Create, Some(gate)) if !gate.trim().is_empty() => {
                action.leading_to(gate::action(gate.trim()))
            }
            _ => action,
        }
    }

    async fn preview(&self, args: &Args, context: &ToolContext) -> Option<String> {
        let planner = &context.services.planner;
        planner.preview(context, args.plan()?).await.ok()
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let planner = &context.services.planner;
        if let Some(plan) = args.plan() {
            if plan.when.trim().is_empty() {
                return Err(ToolError::rejected("`when` is missing"));
            }
            return Ok(planner.plan(context, plan).await?.into());
        }
        match (args.action, args.name) {
            (Do::List, _) => Ok(planner.list(context).await?.into()),
            (_, Some(name)) => Ok(planner.delete(context, &name).await?.into()),
            (_, None) => Err(ToolError::rejected("`name` is missing")),
        }
    }
}

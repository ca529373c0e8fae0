//! `ask_person`: puts a question to people and waits for the answer. The turn that calls it asks and waits itself, because
//! the question may outlive the turn.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::{PersonOption, PersonQuestion};
use crate::permission::{Action, Group};
use crate::tools::error::ToolError;
use crate::tools::{Output, Tool, ToolContext};

pub(super) struct AskPerson;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    question: String,
    /// 2 to 10.
    options: Vec<Choice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    several: Option<bool>,
}

// Doc comments would be in the schema.
#[derive(Clone, Deserialize, Serialize, JsonSchema)]
struct Choice {
    label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
}

impl From<&Args> for PersonQuestion {
    fn from(args: &Args) -> Self {
        let options = args.options.iter().cloned();
        Self {
            question: args.question.clone(),
            options: options
                .map(|Choice { label, description }| PersonOption {
                    label,
                    // Some models write every argument that exists.
                    description: description.filter(|text| !text.trim().is_empty()),
                })
                .collect(),
            several: args.several.unwrap_or_default(),
        }
    }
}

#[async_trait]
impl Tool for AskPerson {
    type Args = Args;

    const NAME: &'static str = "ask_person";
    const DESCRIPTION: &'static str =
        "Have a person decide what you cannot; waits. They may answer in own words.";
    const GROUP: Group = Group::Information;

    fn action(args: &Args) -> Action {
        Action::new(Self::NAME, &*args.question)
    }

    fn question(args: &Args) -> Option<PersonQuestion> {
        Some(args.into())
    }

    fn problems(args: &Args) -> Vec<String> {
        PersonQuestion::from(args).problems()
    }

    /// Never asks: a call whose turn can ask does not come here.
    async fn run(&self, _: Args, _: &ToolContext) -> Result<Output, ToolError> {
        Err(ToolError::rejected("nobody can be asked here"))
    }
}

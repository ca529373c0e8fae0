//! A tool in the registry: without its type, and with its calls checked before they are judged or run.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value};

use super::change::Change;
use super::delegation::Delegation;
use super::error::{InvalidArguments, InvalidCall, ToolError};
use super::{Output, PathArgument, Tool, ToolContext};
use super::{arguments, git, schema};
use crate::domain::{PersonQuestion, size_of_fields};
use crate::llm::ToolSchema;
use crate::permission::{Action, Group};
use crate::text::long;
use crate::workspace::WorkspacePath;

/// The facts about a tool that are known without calling it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolInfo {
    pub name: &'static str,
    /// Its group in the built-in profiles.
    pub group: Group,
    /// The part after `tool:` in all its action strings: a tool (`bash`) or one operation (`git:push`).
    pub subject: &'static str,
    /// Its few words on the shelf; `None` if it is in every request.
    pub shelf: Option<&'static str>,
    /// Whether it depends on the roles of the turn's people.
    pub by_people: bool,
    /// The command with the same effect.
    pub command: Option<&'static str>,
    /// Whether it gives tasks to child turns.
    pub delegates: bool,
}

/// A call that was checked and may be judged: exactly its content will run.
#[derive(Clone)]
pub struct Prepared {
    pub info: ToolInfo,
    /// The arguments, without any that the tool does not know.
    pub arguments: Map<String, Value>,
    pub action: Action,
    /// The path that it acts on, as written.
    pub path: Option<PathArgument>,
    /// The git remote that it speaks to.
    pub remote: Option<String>,
    /// The address of that remote.
    pub address: Option<String>,
    /// The workspace path it writes, after following its links.
    pub writes: Option<String>,
    /// The task for a child turn.
    pub delegation: Option<Delegation>,
    /// The question that it asks people.
    pub question: Option<PersonQuestion>,
    /// Whether it makes a model read a text for the caller.
    pub asks: bool,
    /// How long it may run; `None` for a tool that keeps its own time.
    pub deadline: Option<Duration>,
    /// The target of its path's links; `None` if it leads nowhere else, or cannot be one of the agent's.
    elsewhere: Option<Elsewhere>,
    /// The name under which models call a tool of an MCP server.
    called: Option<Arc<str>>,
    tool: Arc<dyn AnyTool>,
}

/// The place where links lead the path of a call.
#[derive(Clone)]
struct Elsewhere {
    reached: WorkspacePath,
    /// The arguments with that place in them.
    arguments: Map<String, Value>,
}

/// A call at the place where links lead its path.
pub(super) struct AtPlace {
    arguments: Map<String, Value>,
    action: Action,
    writes: Option<String>,
}

impl Prepared {
    /// Creates a call of a tool of an MCP server, which models know as `called`.
    pub(super) fn of_server(
        tool: Arc<dyn AnyTool>,
        called: Arc<str>,
        arguments: Map<String, Value>,
        action: Action,
    ) -> Self {
        Self {
            info: tool.info(),
            arguments,
            action,
            path: None,
            remote: None,
            address: None,
            writes: None,
            delegation: None,
            question: None,
            asks: false,
            // It keeps its own time, which reports of progress extend.
            deadline: None,
            elsewhere: None,
            called: Some(called),
            tool,
        }
    }

    /// Returns the name of its tool, as models know it.
    pub fn name(&self) -> &str {
        self.called.as_deref().unwrap_or(self.info.name)
    }

    /// Finds the target of its path or remote in the agent's `folder`: that is judged, shown and used from now on.
    /// Blocks.
    ///
    /// Without this step, a call gets no path that a link leads elsewhere, and neither does a call with a path that
    /// cannot be followed.
    #[must_use]
    pub fn locate(mut self, folder: &Path) -> Self {
        if let Some(remote) = &self.remote {
            self.address = git::address(folder, remote);
        }
        let Some(followed) = self.path.as_ref().and_then(|path| path.follow(folder).ok()) else {
            return self;
        };
        let Some(there) = self.tool.at_place(&self.arguments, &followed.reached) else {
            return self;
        };
        self.action = self.action.leading_to(there.action);
        self.writes = there.writes;
        self.elsewhere = (there.arguments != self.arguments).then_some(Elsewhere {
            reached: followed.reached,
            arguments: there.arguments,
        });
        self
    }

    /// Returns the arguments as the tool gets them.
    fn used(&self) -> &Map<String, Value> {
        let elsewhere = self.elsewhere.as_ref();
        elsewhere.map_or(&self.arguments, |elsewhere| &elsewhere.arguments)
    }

    /// Returns the change that the call would make in the agent's configuration, in the form for its audit row.
    pub async fn change(&self, context: &ToolContext) -> Option<Change> {
        let change = self.tool.change(self.used(), context).await?;
        Some(change.for_audit(&context.services.redactor))
    }

    /// Returns the call's effect besides its arguments, as Markdown for people.
    pub async fn preview(&self, context: &ToolContext) -> Option<String> {
        self.tool.preview(self.used(), context).await
    }

    pub(super) async fn run(self, context: &ToolContext) -> Result<Output, ToolError> {
        if let (Some(path), Some(elsewhere)) = (&self.path, &self.elsewhere) {
            path.still_leads_to(&elsewhere.reached, context).await?;
        }
        let arguments = self.used().clone();
        if self.remote.is_none() {
            return self.tool.run(arguments, context).await;
        }
        let context = ToolContext {
            address: self.address,
            ..context.clone()
        };
        self.tool.run(arguments, &context).await
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared")
            .field("action", &self.action)
            .finish_non_exhaustive()
    }
}

/// A [`Tool`] without its argument type, so that all fit into one list.
#[async_trait]
pub(super) trait AnyTool: Send + Sync {
    fn info(&self) -> ToolInfo;
    fn schema(&self) -> &ToolSchema;
    fn prepare(self: Arc<Self>, given: &Map<String, Value>) -> Result<Prepared, InvalidCall>;
    /// Returns the call with `reached` in place of its path.
    fn at_place(&self, arguments: &Map<String, Value>, reached: &WorkspacePath) -> Option<AtPlace>;
    async fn change(&self, arguments: &Map<String, Value>, context: &ToolContext)
    -> Option<Change>;
    async fn preview(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Option<String>;
    async fn run(
        &self,
        arguments: Map<String, Value>,
        context: &ToolContext,
    ) -> Result<Output, ToolError>;
}

struct Typed<T> {
    tool: T,
    parameters: Value,
    schema: ToolSchema,
}

/// Returns `tool` in the form for the registry.
pub(super) fn erased<T: Tool>(tool: T) -> Arc<dyn AnyTool> {
    let parameters = schema::of::<T::Args>();
    Arc::new(Typed {
        tool,
        schema: ToolSchema {
            name: T::NAME.to_owned(),
            description: T::DESCRIPTION.to_owned(),
            // Serializing a value never fails.
            parameters: to_raw_value(&parameters).unwrap_or_default(),
        },
        parameters,
    })
}

impl<T: Tool> Typed<T> {
    fn parse(arguments: Map<String, Value>) -> serde_json::Result<T::Args> {
        long::work_on(size_of_fields(&arguments), || {
            serde_json::from_value(Value::Object(arguments))
        })
    }

    fn typed(
        &self,
        given: &Map<String, Value>,
    ) -> Result<(T::Args, Map<String, Value>), InvalidArguments> {
        let taken = arguments::check(&self.parameters, given).map_err(InvalidArguments::Schema)?;
        let args = Self::parse(taken)?;
        let problems = T::problems(&args);
        if !problems.is_empty() {
            return Err(InvalidArguments::Schema(problems));
        }
        let canonical = Self::written_back(&args)?;
        Ok((args, canonical))
    }

    /// Returns the arguments from their type: exactly those that the tool will read, in the order of its fields.
    fn written_back(args: &T::Args) -> Result<Map<String, Value>, InvalidArguments> {
        let Value::Object(mut canonical) = serde_json::to_value(args)? else {
            return Err(InvalidArguments::NoObject);
        };
        canonical.retain(|_, value| !value.is_null());
        Ok(canonical)
    }
}

#[async_trait]
impl<T: Tool> AnyTool for Typed<T> {
    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: T::NAME,
            group: T::GROUP,
            subject: T::SUBJECT,
            shelf: T::SHELF,
            by_people: T::BY_PEOPLE,
            command: T::COMMAND,
            delegates: matches!(T::GROUP, Group::SubAgents),
        }
    }

    fn schema(&self) -> &ToolSchema {
        &self.schema
    }

    fn prepare(self: Arc<Self>, given: &Map<String, Value>) -> Result<Prepared, InvalidCall> {
        let (args, arguments) = self.typed(given).map_err(|problem| {
            let tool = T::NAME;
            match T::SHELF {
                None => InvalidCall::Arguments { tool, problem },
                // The model may never have seen the arguments.
                Some(_) => InvalidCall::OnShelf {
                    tool,
                    problem,
                    parameters: self.schema.parameters.get().to_owned(),
                },
            }
        })?;
        Ok(Prepared {
            info: self.info(),
            arguments,
            action: T::action(&args),
            path: T::path_argument(&args),
            remote: T::remote(&args),
            address: None,
            writes: T::writes(&args),
            delegation: T::delegation(&args),
            question: T::question(&args),
            asks: T::asks(&args),
            deadline: T::deadline(&args),
            elsewhere: None,
            called: None,
            tool: self,
        })
    }

    fn at_place(&self, arguments: &Map<String, Value>, reached: &WorkspacePath) -> Option<AtPlace> {
        let mut args = Self::parse(arguments.clone()).ok()?;
        T::put_path(&mut args, reached);
        Some(AtPlace {
            action: T::action(&args),
            writes: T::writes(&args),
            arguments: Self::written_back(&args).ok()?,
        })
    }

    async fn change(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Option<Change> {
        let args = Self::parse(arguments.clone()).ok()?;
        self.tool.change(&args, context).await
    }

    async fn preview(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Option<String> {
        let args = Self::parse(arguments.clone()).ok()?;
        self.tool.preview(&args, context).await
    }

    async fn run(
        &self,
        arguments: Map<String, Value>,
        context: &ToolContext,
    ) -> Result<Output, ToolError> {
        let args =
            Self::parse(arguments).map_err(|error| ToolError::rejected(error.to_string()))?;
        self.tool.run(args, context).await
    }
}

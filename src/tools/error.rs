//! Why a tool call gave no result, or was invalid.

/// Why a tool call gave no result.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The model can correct this; it gets the text, which says what was wrong and what to try.
    #[error("{0}")]
    Rejected(String),
    /// The call cannot be served; the operator gets the reason, the model only learns that it could not run.
    #[error("the tool could not run: {0}")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl ToolError {
    /// Creates a refusal for a reason the model can act on.
    pub fn rejected(reason: impl Into<String>) -> Self {
        Self::Rejected(reason.into())
    }

    /// Creates a failure for a reason of our own.
    pub fn failed(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Failed(cause.into())
    }
}

/// Why a model's call cannot be judged. The model gets the text.
#[derive(Debug, thiserror::Error)]
pub enum InvalidCall {
    #[error("there is no tool `{name}`; did you mean `{near}`?")]
    Misspelled { name: String, near: &'static str },
    #[error("there is no tool `{name}`; there are {}", known.join(", "))]
    UnknownTool {
        name: String,
        known: Vec<&'static str>,
    },
    #[error("{tool} cannot run: {problem}")]
    Arguments {
        tool: &'static str,
        problem: InvalidArguments,
    },
    /// With the schema of its arguments, which is in no request.
    #[error("{tool} cannot run: {problem}. Its arguments: {parameters}")]
    OnShelf {
        tool: &'static str,
        problem: InvalidArguments,
        parameters: String,
    },
    #[error("call_tool cannot run: {0}")]
    Indirect(InvalidIndirect),
    /// About a tool of an MCP server.
    #[error("{0}")]
    Server(String),
}

/// Why a call of `call_tool` does not name a valid call of a tool.
#[derive(Debug, thiserror::Error)]
pub enum InvalidIndirect {
    #[error("it cannot call itself; give the name of the tool that you want to run")]
    Itself,
    /// With the schema of the tool that it names, if there is one.
    #[error("{problem}{}", parameters.as_ref().map_or(String::new(), |told| format!(". The arguments of that tool: {told}")))]
    Arguments {
        problem: InvalidArguments,
        parameters: Option<String>,
    },
}

/// The faults of a call's arguments.
#[derive(Debug, thiserror::Error)]
pub enum InvalidArguments {
    /// Every problem that the tool's schema or its limits show.
    #[error("{}", .0.join("; "))]
    Schema(Vec<String>),
    /// The tool's own type rejects them.
    #[error("{0}")]
    Type(#[from] serde_json::Error),
    #[error("the arguments are not an object")]
    NoObject,
}

//! Plain data that every module uses: ids, agents, transcripts, sessions, usage.
//!
//! Nothing here does IO, waits, or knows of Discord's or a provider's wire format.

mod agent;
mod attempt;
pub mod causes;
mod effect;
mod ids;
pub mod json_values;
mod marks;
mod message;
mod overview;
mod question;
pub mod read_ids;
mod run;
mod session;
mod stages;
mod transcript;
mod usage;

pub use agent::{AgentConfig, AgentName, AgentStatus, Mode, NameError, ProfileRef, SandboxMode};
pub use attempt::{AttemptKind, AttemptOutcome, FailureClass, UnknownAttempt};
pub use effect::{CommandEnd, Effect, FileChange, Receipt};
pub use ids::{
    AgentId, CallId, ChannelId, ConversationId, GuildId, MessageId, RoleId, SessionId, TaskId,
    TurnId, UserId,
};
pub use marks::{apart, as_name};
pub use message::{Attachment, Author, Inbound, Participant, Person, Quote, Via};
pub use overview::{
    BudgetState, DaemonState, Failed, FailedKind, NextSchedule, Overview, RunState, RunningRun,
    WaitingKind, WaitingThing,
};
pub use question::{AskedOfPeople, PersonOption, PersonQuestion};
pub use run::{CausedRun, Node, Op, OpKind, Run};
pub use session::{SaveTrigger, SessionMeta, SessionUsage};
pub use stages::{Handoff, MOST_ADVISORS, MOST_HANDOFFS, OnFailure, Router, handoffs_of};
pub use transcript::{
    Assistant, CALL_TOOL, Image, Item, OpaqueBlock, StopReason, ToolCall, ToolResult, UserText,
    size_of_fields,
};
pub use usage::{Cost, Usage};

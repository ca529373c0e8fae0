//! An agent at work: its actor, its conversations, its turns.
//!
//! ```text
//! AgentHandle ─▶ mailbox ─▶ actor ─┬▶ turn: begin ▸ steps ▸ calls ▸ finish     (one for each conversation at work)
//!                                  ├▶ idle timer
//!                                  └▶ contexts: save · clear · restore · compact
//! turn ─▶ Event (shown by `discord`)      turn, contexts ─▶ store (before anything is shown)
//! ```
//!
//! Its parts, bottom up; a part names those of earlier lines alone (`tests/it/layers/agent.rs`).
//!
//! | part | about |
//! |---|---|
//! | `idle_timer` | notices that an agent has been left alone for its timeout |
//! | `stop` | how work ends: asked to by people or a change, at a deadline, after so much working time |
//! | `sessions` | saved conversations: files, their rows, how they are labelled |
//! | `models` | which models are asked, and what that may cost |
//! | `setup` | what an agent is by its files: configuration, role, mode, stages, tools |
//! | `event` | what people are to see |
//! | `deps` | what agents are served with; who an agent is |
//! | `files` | an agent's folder read and written: one look before each step, notes, history, saves, faults that are told |
//! | `auxiliary` | requests beside turns: summaries, a prompt after a description |
//! | `turn` | the loop of a turn, from what starts it to its one outcome: steps, requests, the window |
//! | `calls` | the tool calls of one step: judged, asked about, run |
//! | `run` | what surrounds a turn: sub-agents, stages, reports, the end of one that broke |
//! | `conversation` | a conversation while its actor lives: its items or its turn, its job, what is asked of it |
//! | `actor` | the event loop, and all that it does: messages, turns, jobs, silence, the end |

mod actor;
mod auxiliary;
mod calls;
mod conversation;
mod deps;
pub mod event;
mod files;
pub mod idle_timer;
mod models;
mod run;
pub mod sessions;
mod setup;
mod stop;
mod turn;

pub use actor::{AgentHandle, spawn};
pub use auxiliary::gate::{GateVerdict, gate_binding};
pub use auxiliary::{Asker, AuxiliaryRequest, refine};
pub use conversation::mailbox::{
    AfterSave, AgentCommand, BeforeClear, Cleared, ClosedBranches, ContextAction,
    ConversationState, NewBranch, Place, Prompt, Restored, RunningTurn, Stopped, Target,
};
pub use deps::deliveries::{Deliveries, DeliveryFigures};
pub use deps::identity::Identity;
pub use deps::interruptions::Pending;
pub use deps::planned::{HandedKey, HandedRun, LATENESS_BOUNDS, PlannedRuns, RunFigures};
pub use deps::questions::{OpenToPeople, PersonEnd};
pub use deps::{AgentDeps, Busy, Limits, Members};
pub use files::access::{Access, NoAccess};
pub use files::beginning::Beginning;
pub use models::Models;
pub use models::budget::{
    Caps, KnownSums, Payer, Reservations, Spender, Spent, start_of_day, start_of_month,
};
pub use models::budget_days::{MOST_RAISES, amount, end_of_day, read_button};
pub use sessions::{session_file, session_label};
pub use setup::core_agents::MOST_CORE_AGENTS;
pub use setup::{Charters, Configuration, Configurations, Fault, FileNews, OwnRole, Roles};
pub use stop::at_work::NobodyElsewhere;
pub use stop::{Stop, Stopper};
pub use turn::end::last_line::LastLine;
pub use turn::end::planned::{NOTHING, due_line, failure_line, pausing_after};
pub use turn::end::{CUT_BY_CRASH, EndReason};
pub use turn::resume::WENT_ON;
pub use turn::trigger::{
    BUDGET_OF_RUN, Note, Overrides, Planned, PlannedKind, PlannedRun, Resume, Source, ToldOfNote,
    Trigger,
};

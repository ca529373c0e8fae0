//! The rights of an agent: actions, profiles, decisions. Pure.
//!
//! ```text
//! tool call ─▶ Action ─▶ Profile::decide ─▶ Verdict { allow | ask | deny, reason }
//!                │            ▲
//!                └─ shell: a command parsed once; what is judged is what is shown and what runs
//! ```
//!
//! A decision depends only on the profile, the action and the agent's `always_allow` list. Every doubt narrows: from
//! allow to ask, from ask to deny.

mod action;
mod binding;
mod builtin;
pub mod check;
mod cover;
mod decide;
mod effort;
mod grants;
mod group;
mod judge;
mod pattern;
mod profile;
mod profiles;
mod rights;
mod scope;
mod spelled;
mod stack;
mod surroundings;
mod words;

pub use action::{Action, ActionError};
pub use binding::binding_hash;
pub use decide::{Breadth, Decision, Verdict};
pub use effort::Effort;
pub use grants::{
    GrantTable, NotGranted, all_known, all_may_grant, may_always_allow, may_answer, may_grant,
    may_talk,
};
pub use group::Group;
pub use pattern::PatternError;
pub use profile::{Profile, ProfileError};
pub use profiles::Profiles;
pub use rights::{LeftOut, Rights};
pub use scope::{Scope, scope};
pub use shell_verdict::are_program_settings;
pub use stack::Stack;
pub use surroundings::Surroundings;

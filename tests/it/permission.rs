//! Permissions: profiles, decisions, grants and the shell's parse.

mod adversaries;
mod builtin;
mod catastrophe;
mod corpus;
mod custom;
mod differential;
mod elsewhere;
pub mod grants;
mod limits;
mod properties;
mod surroundings;

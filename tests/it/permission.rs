//! Permissions: profiles, decisions, grants and the shell's parse.

mod builtin;
mod catastrophe;
mod corpus;
mod custom;
mod differential;
pub mod grants;
mod limits;
mod properties;
mod surroundings;

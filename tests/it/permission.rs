//! Permissions: profiles, decisions, grants and the shell's parse.

mod adversaries;
mod braces;
mod breadth;
mod builtin;
mod corpus;
mod cover;
mod custom;
mod destructive;
mod differential;
mod effort;
mod elsewhere;
pub(crate) mod grants;
mod hiding;
mod limits;
mod properties;
mod ran;
mod reached;
mod soup;
mod stack;
mod surroundings;
mod unknown;

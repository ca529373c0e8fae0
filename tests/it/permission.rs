//! Permissions: profiles, decisions, grants and the shell's parse.

mod adversaries;
mod braces;
mod breadth;
mod builtin;
mod corpus;
mod cover;
mod custom;
mod differential;
mod effort;
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

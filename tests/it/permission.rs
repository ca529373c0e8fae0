//! Permissions: profiles, decisions, grants and the shell's parse.

mod builtin;
mod corpus;
mod custom;

//! Tools, each called directly through registry and guard, on a real folder.

mod agents;
mod edit;
mod git;
mod git_config;
mod git_nested;
mod hostile_paths;
mod hostile_repositories;
pub(crate) mod lab;
mod look;
pub(crate) mod push;
mod reached;
mod registry;
mod self_edit;
mod web;

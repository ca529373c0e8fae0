//! Tools, each called directly through registry and guard, on a real folder.

mod agents;
mod edit;
mod hostile_paths;
pub(crate) mod lab;
mod look;
mod registry;
mod self_edit;

//! Tools, each called directly through registry and guard, on a real folder.

mod edit;
mod hostile_paths;
mod lab;
mod look;
mod registry;

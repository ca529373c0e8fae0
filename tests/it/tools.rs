//! Tools, each called directly through registry and guard, on a real folder.

mod registry;

//! An agent at work.
pub mod event;

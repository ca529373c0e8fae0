//! An agent at work.
pub mod event;
pub mod idle_timer;
pub mod session_file;
pub mod session_label;
pub mod session_manager;

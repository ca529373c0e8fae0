//! All agents: who there is, which one a message is for, and what recovery found.

pub mod recovery;

//! One agent's folder on disk: its `agent.json`, its notes and its working directory.

pub mod locks;

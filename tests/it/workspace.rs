//! An agent's folder: its file, its notes, and what its paths may reach.

mod agent_file;
mod docs;
mod folder;
mod locks;
mod swapper;

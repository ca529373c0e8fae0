//! Charters: Markdown files that describe a role. A charter is compiled into a [`Role`], or all its problems are
//! reported at once. Pure: text in, value out; this module does not know where the files are.
//!
//! ```text
//! bytes ─file::read─▶ front matter · body ─entries─▶ keys with lines ─compile─▶ Role | problems
//! ```
//!
//! Files of other tools are read unchanged. Claude Code's and ours are one dialect; Copilot's take the name from the
//! file, and Squad's have headings instead of front matter.

mod builtin;
mod catalog;
mod compile;
mod contract;
mod file;
mod json_schema;
mod key_names;
mod keys;
mod lenient;
mod narrow;
mod problem;
mod role;
mod skill;
mod squad;
mod tool_names;
mod tools;
mod values;
mod yaml;

pub use builtin::text as built_in;
pub use catalog::{Catalog, Entry, NoGate, Place, Source, Unreadable};
pub use compile::{FindModel, Known, compile};
pub use contract::{Contract, Lacks};
pub use file::{Charter, MAX_BYTES, Trust};
pub use json_schema::Thoroughness;
pub use problem::{Note, Problem, Problems};
pub use role::{Compaction, Limits, ModelChoice, Role, RoleMode, SeedPart};
pub use skill::{HEAD, Skill, skill, skill_body};

//! Drawings of the ledger's content, for people and for programs: a run as lines, events, a page and a picture; use as
//! bars.
//!
//! Values in, text or bytes out. Discord and the command line show the same drawings.

mod letters;
mod overview_lines;
mod run_events;
mod run_lines;
mod run_markdown;
mod run_page;
mod run_picture;
mod timeline;
pub mod usage_chart;

pub use letters::NoPicture;
pub use overview_lines::{Medium, Section, overview_schema, overview_sections};
pub use run_events::{run_event_lines, run_events, run_json, run_json_text, run_schema};
pub use run_lines::{Detail, run_line, run_lines};
pub use run_markdown::run_markdown;
pub use run_page::{MOST_BYTES as PAGE_BYTES, run_page};
pub use run_picture::run_picture;

//! JSON-RPC over lines for programs that are not trusted: bounded reading, and JSON taken apart without its types.
//!
//! It knows no protocol: see `chorus-mcp` and `chorus-acp`.

mod items;
mod lines;
mod writer;

pub use items::{Items, items, members, text};
pub use lines::{Broken, Lines, MAX_LINE, MAX_NOISE, Noise};
pub use writer::{line, write_lines};

/// JSON-RPC: there is no such method.
pub const NO_SUCH_METHOD: i64 = -32601;

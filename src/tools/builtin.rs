//! The tools themselves, one a file, and the list of them in the order a model is told of them.
//!
//! To add a tool: its file, its `mod` line, its line in [`all`].

mod append_file;
mod create_file;
mod glob;
mod grep;
mod insert_at;
mod list_models;
mod replace_lines;
mod send_file;
mod str_replace;
mod str_replace_all;
mod tool_output;
mod view;

use std::sync::Arc;

use super::registry::{AnyTool, erased};

/// Every tool, once.
pub(super) fn all() -> Vec<Arc<dyn AnyTool>> {
    vec![
        erased(view::View),
        erased(create_file::CreateFile),
        erased(append_file::AppendFile),
        erased(str_replace::StrReplace),
        erased(str_replace_all::StrReplaceAll),
        erased(insert_at::InsertAt),
        erased(replace_lines::ReplaceLines),
        erased(glob::Glob),
        erased(grep::Grep),
        erased(send_file::SendFile),
        erased(tool_output::ToolOutput),
        erased(list_models::ListModels),
    ]
}

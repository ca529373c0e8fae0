//! The tools themselves, one a file, and the list of them in the order a model is told of them.
//!
//! To add a tool: its file, its `mod` line, its line in [`all`].

mod list_models;
mod tool_output;

use std::sync::Arc;

use super::registry::{AnyTool, erased};

/// Every tool, once.
pub(super) fn all() -> Vec<Arc<dyn AnyTool>> {
    vec![
        erased(tool_output::ToolOutput),
        erased(list_models::ListModels),
    ]
}

//! The list of a server's tools: page by page and item by item, each within its limits.

use std::collections::HashSet;

use chorus_rpc::{items, members, text};
use serde_json::value::RawValue;

use super::tool::{Refused, Tool, ToolError};

/// Pages of one list.
const MAX_PAGES: usize = 50;

/// Bytes of all pages.
const MAX_BYTES: usize = 4 << 20;

/// Tools of one server.
const MAX_TOOLS: usize = 256;

/// Refusals that are kept with their reasons.
const MAX_REFUSED: usize = 256;

/// Why a list is shorter than the server's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cut {
    #[error("its list has more than {MAX_TOOLS} tools")]
    Tools,
    #[error("its list has more than {MAX_PAGES} pages")]
    Pages,
    #[error("its list has more than {} MiB", MAX_BYTES >> 20)]
    Bytes,
    #[error("its list repeats a page")]
    RepeatedCursor,
}

/// The tools of a server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolList {
    /// In the server's order, each name once.
    pub tools: Vec<Tool>,
    /// Those that are not used.
    pub refused: Vec<Refused>,
    /// Why the rest was not read.
    pub cut: Option<Cut>,
}

/// A list while it is read.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    list: ToolList,
    names: HashSet<String>,
    cursors: HashSet<String>,
    pages: usize,
    bytes: usize,
}

impl Reading {
    /// Takes one page, and returns the cursor of the next.
    ///
    /// # Errors
    ///
    /// When the page holds no list of tools.
    pub(crate) fn page(&mut self, result: &RawValue) -> Result<Option<String>, serde_json::Error> {
        let [tools, next] = members(result, ["tools", "nextCursor"])?;
        let Some(tools) = tools else {
            return Err(serde::de::Error::custom("it has no list of tools"));
        };
        self.pages += 1;
        self.bytes += result.get().len();
        if self.bytes > MAX_BYTES {
            return Ok(self.ends(Cut::Bytes));
        }
        let room = MAX_TOOLS + MAX_REFUSED;
        let page = items(tools, room)?;
        for item in &page.kept {
            self.take(item);
        }
        if page.left_out > 0 || self.list.cut.is_some() {
            return Ok(self.ends(Cut::Tools));
        }
        // A cursor that is no text cannot be sent back.
        let Some(next) = text(next) else {
            return Ok(None);
        };
        if !self.cursors.insert(next.clone()) {
            return Ok(self.ends(Cut::RepeatedCursor));
        }
        if self.pages == MAX_PAGES {
            return Ok(self.ends(Cut::Pages));
        }
        Ok(Some(next))
    }

    fn ends(&mut self, why: Cut) -> Option<String> {
        self.list.cut = Some(why);
        None
    }

    fn take(&mut self, item: &RawValue) {
        if self.list.tools.len() == MAX_TOOLS {
            self.list.cut = Some(Cut::Tools);
            return;
        }
        let read = Tool::read(item).and_then(|tool| {
            if self.names.insert(tool.name.clone()) {
                return Ok(tool);
            }
            Err(Refused {
                name: tool.name,
                why: ToolError::Twice,
            })
        });
        match read {
            Ok(tool) => self.list.tools.push(tool),
            Err(refused) if self.list.refused.len() < MAX_REFUSED => {
                self.list.refused.push(refused)
            }
            Err(_) => self.list.cut = Some(Cut::Tools),
        }
    }

    pub(crate) fn finish(self) -> ToolList {
        self.list
    }
}

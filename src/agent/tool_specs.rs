//! What models are told of tools: worked out once for each profile and mode, and then shared by all turns.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::charter::Role;
use crate::domain::Mode;
use crate::permission::Stack;
use crate::tools::{Registry, ToolInfo, Toolset};

use super::modes;

/// Profiles that are remembered; beyond that they are worked out again.
const MOST: usize = 64;

/// The profiles' hash, the role's, and the mode.
type Key = (String, Option<String>, Mode);

/// The tools of each profile and mode.
#[derive(Debug, Default)]
pub struct ToolSpecs(Mutex<HashMap<Key, Toolset>>);

impl ToolSpecs {
    /// All tools that `profiles` do not deny whatever their arguments, and that belong to `role` and `mode`.
    pub(super) fn of(
        &self,
        tools: &Registry,
        profiles: &Stack,
        role: Option<&Role>,
        mode: Mode,
    ) -> Toolset {
        let mut known = self.0.lock();
        if known.len() >= MOST {
            known.clear();
        }
        let told = known
            .entry((
                profiles.hash().to_owned(),
                role.map(|role| role.sha256.clone()),
                mode,
            ))
            .or_insert_with(|| tools.toolset(|tool| is_told(profiles, role, tool, mode)));
        told.clone()
    }
}

fn is_told(profiles: &Stack, role: Option<&Role>, tool: &ToolInfo, mode: Mode) -> bool {
    modes::has_tool(mode, tool.name)
        && role.is_none_or(|role| role.has_tool(tool.name))
        && !profiles.denies_all(tool.subject)
}

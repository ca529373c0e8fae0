//! The tools that models are told about: worked out once for each profile and mode, and then shared by all turns.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::Setup;
use super::modes;
use crate::domain::Mode;
use crate::permission::Stack;
use crate::tools::{Registry, ToolInfo, Toolset};

/// Profiles that are remembered; beyond that they are worked out again.
const MOST: usize = 64;

/// The hash of the profiles, that of the roles, the mode, whether there is a role to call, and whether decisions are kept.
type Key = (String, String, Mode, bool, bool);

/// The tools of each profile and mode.
#[derive(Debug, Default)]
pub struct ToolSpecs(Mutex<HashMap<Key, Toolset>>);

impl ToolSpecs {
    /// All tools that `profiles` do not deny altogether, and that the roles of `setup` and `mode` leave. `delegates`: there
    /// is a role that can be called.
    pub(in crate::agent) fn of(
        &self,
        tools: &Registry,
        profiles: &Stack,
        setup: &Setup,
        mode: Mode,
        delegates: bool,
    ) -> Toolset {
        let mut known = self.0.lock();
        if known.len() >= MOST {
            known.clear();
        }
        let told = known
            .entry((
                profiles.hash().to_owned(),
                setup.roles_key(),
                mode,
                delegates,
                setup.is_told("record_decision"),
            ))
            .or_insert_with(|| {
                tools.toolset(|tool| {
                    (delegates || !tool.delegates) && is_told(profiles, setup, tool, mode)
                })
            });
        told.clone()
    }
}

fn is_told(profiles: &Stack, setup: &Setup, tool: &ToolInfo, mode: Mode) -> bool {
    modes::has_tool(mode, tool.name)
        && setup.is_told(tool.name)
        && !profiles.denies_all(tool.subject)
}

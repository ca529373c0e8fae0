//! The tools that models are told about: worked out once for each profile and mode, and then shared by all turns.

use std::collections::HashMap;

use chorus_mcp::Mark;
use parking_lot::Mutex;

use super::Setup;
use super::modes;
use crate::domain::Mode;
use crate::mcp::{RosterServer, RosterTool};
use crate::permission::Stack;
use crate::tools::mcp::{self, Offer};
use crate::tools::{Registry, ToolInfo, Toolset};

/// Profiles that are remembered; beyond that they are worked out again.
const MOST: usize = 64;

/// Which tools of MCP servers a turn may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::agent) enum OfServers {
    All,
    /// Only those that a person marked as reading.
    Reading,
}

/// What the tools of a turn depend on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    profiles: String,
    roles: String,
    mode: Mode,
    /// Whether there is a role to call.
    delegates: bool,
    keeps_decisions: bool,
    roster: u64,
    of_servers: OfServers,
}

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
        of_servers: OfServers,
    ) -> Toolset {
        let mut known = self.0.lock();
        if known.len() >= MOST {
            known.clear();
        }
        let told = known
            .entry(Key {
                profiles: profiles.hash().to_owned(),
                roles: setup.roles_key(),
                mode,
                delegates,
                keeps_decisions: setup.is_told("record_decision"),
                roster: setup.mcp.key,
                of_servers,
            })
            .or_insert_with(|| {
                let offer = Offer::of(setup.mcp.clone(), |server, tool| {
                    modes::has_tool(mode, mcp::TOOL)
                        && (of_servers == OfServers::All || tool.mark == Mark::Read)
                        && setup.has_tool_of(server, tool)
                        && !is_denied(profiles, server, tool)
                });
                tools.toolset_with(offer, |tool| {
                    (delegates || !tool.delegates) && is_told(profiles, setup, tool, mode)
                })
            });
        told.clone()
    }
}

/// Whether the profiles deny every call of a tool.
fn is_denied(profiles: &Stack, server: &RosterServer, tool: &RosterTool) -> bool {
    let operation = mcp::action_of(&server.name, &tool.name, tool.mark);
    profiles.denies_each(&format!("{}:{}", mcp::TOOL, tool.mark), &operation)
}

fn is_told(profiles: &Stack, setup: &Setup, tool: &ToolInfo, mode: Mode) -> bool {
    modes::has_tool(mode, tool.name)
        && setup.is_told(tool.name)
        && !profiles.denies_all(tool.subject)
}

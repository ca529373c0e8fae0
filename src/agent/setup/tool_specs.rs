//! The tools that models are told about: worked out once for each profile and mode, and then shared by all turns.

use std::collections::HashMap;

use chorus_mcp::Mark;
use parking_lot::Mutex;

use super::modes;
use super::{SCHEDULE, Setup};
use crate::domain::Mode;
use crate::mcp::{RosterServer, RosterTool};
use crate::permission::Stack;
use crate::tools::mcp::{self, Offer};
use crate::tools::{ASK_PERSON, Registry, ToolInfo, Toolset};

/// Profiles that are remembered; beyond that they are worked out again.
const MOST: usize = 64;

/// Which tools of MCP servers a turn may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::agent) enum OfServers {
    All,
    /// Only those that a person marked as reading.
    Reading,
}

/// What a turn can do, whatever its agent may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::agent) struct Able {
    /// There is a role that it can call.
    pub(in crate::agent) delegates: bool,
    /// It may put questions to people.
    pub(in crate::agent) asks_people: bool,
    pub(in crate::agent) of_servers: OfServers,
    pub(in crate::agent) watched: Watched,
}

/// What the tools of a turn depend on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    profiles: String,
    roles: String,
    mode: Mode,
    able: Able,
    keeps_decisions: bool,
    roster: u64,
}

/// The tools of each profile and mode.
#[derive(Debug, Default)]
pub struct ToolSpecs(Mutex<HashMap<Key, Toolset>>);

impl ToolSpecs {
    /// All tools that `profiles` do not deny altogether, and that the roles of `setup`, `mode` and `able` leave.
    pub(in crate::agent) fn of(
        &self,
        tools: &Registry,
        profiles: &Stack,
        setup: &Setup,
        mode: Mode,
        able: Able,
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
                able,
                keeps_decisions: setup.is_told("record_decision"),
                roster: setup.mcp.key,
            })
            .or_insert_with(|| {
                let offer = Offer::of(setup.mcp.clone(), |server, tool| {
                    modes::has_tool(mode, mcp::TOOL)
                        && (able.of_servers == OfServers::All || tool.mark == Mark::Read)
                        && setup.has_tool_of(server, tool)
                        && !is_denied_of(profiles, server, tool)
                });
                tools.toolset_with(offer, |tool| {
                    (able.delegates || !tool.delegates)
                        && (able.asks_people || tool.name != ASK_PERSON)
                        && (able.watched == Watched::ByAPerson || tool.name != SCHEDULE)
                        && is_told(profiles, setup, tool, mode)
                })
            });
        told.clone()
    }
}

/// Whether the profiles deny every call of a tool of a server.
fn is_denied_of(profiles: &Stack, server: &RosterServer, tool: &RosterTool) -> bool {
    let operation = mcp::action_of(&server.name, &tool.name, tool.mark);
    profiles.denies_each(&format!("{}:{}", mcp::TOOL, tool.mark), &operation)
}

fn is_told(profiles: &Stack, setup: &Setup, tool: &ToolInfo, mode: Mode) -> bool {
    modes::has_tool(mode, tool.name) && setup.is_told(tool.name) && !is_denied(profiles, tool)
}

/// Says whether the profiles deny everything of a tool that would be worth telling.
fn is_denied(profiles: &Stack, tool: &ToolInfo) -> bool {
    if tool.name == SCHEDULE {
        // A list of what is planned is no reason to tell models of it.
        return ["schedule:create", "schedule:remind"]
            .iter()
            .all(|subject| profiles.denies_all(subject));
    }
    profiles.denies_all(tool.subject)
}

/// Who watches a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::agent) enum Watched {
    ByAPerson,
    ByNobody,
}

//! What models are told of tools: worked out once for each profile and mode, and then shared by all turns.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::llm::ToolSchema;
use crate::permission::Profile;
use crate::tools::{Registry, ToolInfo};

use super::mailbox::Mode;

/// Tools of [`Mode::Lightweight`].
const LOOKING: [&str; 3] = ["view", "grep", "glob"];

/// Profiles that are remembered; beyond that they are worked out again.
const MOST: usize = 64;

/// A profile's hash, and the mode.
type Key = (String, Mode);

/// The schemas of each profile and mode.
#[derive(Debug, Default)]
pub struct ToolSpecs(Mutex<HashMap<Key, Arc<Vec<ToolSchema>>>>);

impl ToolSpecs {
    /// All tools that `profile` does not deny whatever their arguments, and that belong to `mode`.
    pub(super) fn of(
        &self,
        tools: &Registry,
        profile: &Profile,
        mode: Mode,
    ) -> Arc<Vec<ToolSchema>> {
        let mut known = self.0.lock();
        if known.len() >= MOST {
            known.clear();
        }
        let told = known
            .entry((profile.hash().to_owned(), mode))
            .or_insert_with(|| tools.schemas(|tool| is_told(profile, tool, mode)));
        Arc::clone(told)
    }
}

fn is_told(profile: &Profile, tool: &ToolInfo, mode: Mode) -> bool {
    let in_mode = match mode {
        Mode::Lightweight => LOOKING.contains(&tool.name),
        Mode::Standard | Mode::Full => true,
    };
    in_mode && !profile.denies_all(tool.subject)
}

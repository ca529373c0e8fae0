//! The four profiles that every server has.

use std::sync::{Arc, OnceLock};

use super::group::Group;
use super::profile::{Profile, ProfileError};

/// Their names, from the widest to the narrowest.
pub(super) const NAMES: [&str; 4] = ["open", "guarded", "standard", "locked"];

/// The one that allows everything.
pub(super) const WIDEST: &str = NAMES[0];

/// The commands that `guarded` denies: those that change something elsewhere, in the marked form that the shell module
/// gives them in every spelling (`git [write] push`, `gh [write] pr create`).
const WRITES_ELSEWHERE: &str =
    r"tool:(bash|run_concurrent|run_background):(git|gh|glab|hub|doctl|curl) \[write\] .*";

type Compiled = Result<Arc<Profile>, ProfileError>;

/// Returns the built-in profile called `name`, compiled at its first use and then kept: a start needs no built-in
/// profile.
pub(super) fn kept(name: &str) -> Option<Compiled> {
    static KEPT: [OnceLock<Compiled>; NAMES.len()] = [const { OnceLock::new() }; NAMES.len()];
    let (at, kept) = NAMES.iter().zip(&KEPT).find(|(known, _)| **known == name)?;
    Some(
        kept.get_or_init(|| Profile::builtin(at).map(Arc::new))
            .clone(),
    )
}

impl Profile {
    /// Returns the built-in profile called `name`.
    ///
    /// # Errors
    ///
    /// Fails if no built-in profile has that name.
    pub fn builtin(name: &str) -> Result<Self, ProfileError> {
        match name {
            "open" => Self::compile(&[".*"], &[], &[]),
            "standard" => Self::compile(
                &[
                    Group::Files.pattern(),
                    Group::GitLocal.pattern(),
                    Group::Docs.pattern(),
                    Group::Information.pattern(),
                    Group::LIST_OF_SCHEDULES,
                    Group::AgentComm.pattern(),
                    Group::StopTask.pattern(),
                    Group::WebSearch.pattern(),
                    Group::SubAgents.pattern(),
                    Group::McpRead.pattern(),
                ],
                &[
                    Group::Shell.pattern(),
                    Group::Tasks.pattern(),
                    Group::Schedule.pattern(),
                    Group::WebFetch.pattern(),
                    Group::GitRemote.pattern(),
                    Group::SelfEdit.pattern(),
                    Group::Delegates.pattern(),
                    Group::McpWrite.pattern(),
                ],
                &[],
            ),
            "guarded" => Self::compile(
                &[".*"],
                &[],
                &[
                    Group::GitRemote.pattern(),
                    WRITES_ELSEWHERE,
                    Group::McpWrite.pattern(),
                ],
            ),
            "locked" => Self::compile(
                &[
                    "tool:(view|glob|grep):.*",
                    Group::Information.pattern(),
                    Group::LIST_OF_SCHEDULES,
                ],
                &[],
                &[],
            ),
            name => Err(ProfileError::UnknownName {
                name: name.to_owned(),
                hint: format!("built-in are {}", NAMES.join(", ")),
            }),
        }
    }
}

//! What the mode of a turn means. A mode only narrows what an agent may do; which model answers in it is somebody's
//! decision by name ([`Tiers`](crate::config::Tiers)).

use std::time::Duration;

use crate::domain::Mode;

/// Longest work of any turn.
const DAY: Duration = Duration::from_secs(86_400);

/// Tools of [`Mode::Lightweight`].
const LOOKING: [&str; 3] = ["view", "grep", "glob"];

/// The mode that applies. `said` is ordered from the most general source on: the last one that names a mode wins.
pub(super) fn in_force(said: &[Option<Mode>]) -> Mode {
    said.iter().rev().find_map(|said| *said).unwrap_or_default()
}

/// Whether a turn in this mode has the tool.
pub(in crate::agent) fn has_tool(mode: Mode, name: &str) -> bool {
    match mode {
        Mode::Direct => false,
        Mode::Lightweight => LOOKING.contains(&name),
        Mode::Standard | Mode::Full => true,
    }
}

/// Why a call does not run in this mode, for the model.
pub(in crate::agent) fn has_not(mode: Mode) -> String {
    let has = match mode {
        Mode::Direct => "no tools".to_owned(),
        Mode::Lightweight => format!("only {}", LOOKING.join(", ")),
        Mode::Standard | Mode::Full => "not this tool".to_owned(),
    };
    format!("this turn runs in mode {}, which has {has}", mode.as_str())
}

/// Whether the system prompt holds the notes.
pub(in crate::agent) fn brings_notes(mode: Mode) -> bool {
    match mode {
        Mode::Direct | Mode::Lightweight => false,
        Mode::Standard | Mode::Full => true,
    }
}

/// Whether a turn that answers people has stages.
pub(super) fn has_stages(mode: Mode) -> bool {
    match mode {
        Mode::Direct | Mode::Lightweight => false,
        Mode::Standard | Mode::Full => true,
    }
}

/// Share of the room at which a summary is begun in the background; `None` where old items are left out instead.
///
/// Work of many steps fills the rest while the summary is being made.
pub(in crate::agent) fn summary_at(mode: Mode) -> Option<f64> {
    match mode {
        Mode::Direct | Mode::Lightweight => None,
        Mode::Standard => Some(0.80),
        Mode::Full => Some(0.70),
    }
}

/// How long a turn of an agent that has `configured` may work.
pub(in crate::agent) fn work(mode: Mode, configured: Duration) -> Duration {
    match mode {
        Mode::Direct => configured.min(Duration::from_secs(30)),
        Mode::Lightweight => configured.min(Duration::from_secs(60)),
        Mode::Standard => configured,
        Mode::Full => configured.saturating_mul(4).min(DAY.max(configured)),
    }
}

/// Most bytes of a text file that go into the conversation.
///
/// Of a longer one its beginning and end do. The rest is read with `view`, page by page, so that it does not fill the window
/// for good.
pub(in crate::agent) fn text_max(mode: Mode) -> usize {
    match mode {
        Mode::Direct | Mode::Lightweight | Mode::Standard => 64 << 10,
        Mode::Full => 256 << 10,
    }
}

//! How the world of a test is made.

use std::time::Duration;

use chorus::llm::places::QueueLimits;
use chorus_playground::Options;
use serde_json::{Value, json};

use super::Way;

/// How a world is made.
pub(crate) struct Setup {
    /// Keys of `config.json` besides the default model.
    pub config: Value,
    /// The daemon as a task of the test, or as a process.
    pub way: Way,
    /// Whether `#lab` with its agent is there from the start.
    pub lab: Lab,
    /// Further environment of the daemon.
    pub env: Vec<(&'static str, String)>,
    /// How the local Discord is.
    pub discord: Options,
    /// How long requests wait for a place at a provider.
    pub queue: QueueLimits,
    /// How long the last words of a sub-agent may take.
    pub childs_last_words: Duration,
    /// A line of the log: the first task that would write it panics. Only for [`Way::InProcess`].
    pub breaks_at: Option<&'static str>,
}

/// Whether the agent `lab` is made before the test begins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lab {
    /// It is, in `#lab`.
    Made,
    /// It is not.
    Missing,
}

/// A local Discord whose bot is called as ours is.
pub(crate) fn discord_options() -> Options {
    Options {
        bot: "Chorus".to_owned(),
        ..Options::default()
    }
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            config: json!({}),
            way: Way::InProcess,
            lab: Lab::Made,
            env: Vec::new(),
            discord: discord_options(),
            queue: QueueLimits::default(),
            childs_last_words: Duration::from_secs(30),
            breaks_at: None,
        }
    }
}

impl Setup {
    /// With a second model, which is that of the tier `lightweight`.
    pub(crate) fn with_small_model() -> Self {
        let small = json!({"format": "anthropic", "api_key_env": "ANTHROPIC_API_KEY", "models": ["small-one"]});
        Self {
            config: json!({
                "providers": {"anthropic": small},
                "tiers": {"lightweight": "anthropic/small-one"},
            }),
            ..Self::default()
        }
    }

    /// Where no interrupted turn goes on by itself.
    pub(crate) fn by_hand(mut self) -> Self {
        self.config["resume"] = json!({"max_age": 0});
        self
    }

    /// With the daemon as a process that logs nothing but errors.
    pub(crate) fn quiet_program() -> Self {
        Self {
            way: Way::Program,
            env: vec![("CHORUS_LOG", "error".to_owned())],
            ..Self::default()
        }
    }
}

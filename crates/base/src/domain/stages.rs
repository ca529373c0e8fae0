//! The stages of a turn that answers people, as configured: which roles it may hand over to, and which roles its answer
//! passes.

use serde::de::Deserializer;
use serde::{Deserialize, Serialize};

/// The roles a turn may hand over to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Router {
    /// Names of roles; if empty, it cannot hand over.
    pub destinations: Vec<String>,
    /// Whether an answer must be handed over.
    #[serde(default)]
    pub required: bool,
}

/// A role that an answer passes before people get it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handoff {
    pub role: String,
    #[serde(default)]
    pub on_failure: OnFailure,
}

/// What happens to an answer that did not pass its handoff.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    #[default]
    Show,
    Withhold,
}

/// Most roles that advise one turn.
pub const MOST_ADVISORS: usize = 5;

/// Most roles that an answer passes one after another.
pub const MOST_HANDOFFS: usize = 3;

/// A handoff as people write it.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a handoff must be a role's name or an object with `role` and `on_failure`"
)]
enum Written {
    Name(String),
    Whole(Handoff),
}

impl From<Written> for Handoff {
    fn from(written: Written) -> Self {
        match written {
            Written::Name(role) => Self {
                role,
                on_failure: OnFailure::Show,
            },
            Written::Whole(handoff) => handoff,
        }
    }
}

/// One handoff, or a list of them.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "`handoff` must be a role's name, an object with `role` and `on_failure`, or a list of these"
)]
enum Chain {
    List(Vec<Written>),
    One(Written),
}

/// Reads `handoff` in all its forms; null means not set.
pub(super) fn handoffs<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<Handoff>>, D::Error> {
    let chain = Option::<Chain>::deserialize(deserializer)?;
    Ok(chain.map(|chain| match chain {
        Chain::List(list) => list.into_iter().map(Handoff::from).collect(),
        Chain::One(one) => vec![one.into()],
    }))
}

/// Reads the handoffs in a JSON text, in any of their forms.
///
/// # Errors
///
/// Fails if the text is in another form.
pub fn handoffs_of(json: &str) -> Result<Vec<Handoff>, serde_json::Error> {
    let mut text = serde_json::Deserializer::from_str(json);
    let read = handoffs(&mut text)?;
    text.end()?;
    Ok(read.unwrap_or_default())
}

//! The mode of a session: what it is, how it is set, and whether the program confirmed it.

use super::setup::{ConfigOption, Session};

/// The protocol's word for the option that is the mode.
const CATEGORY: &str = "mode";

/// How a mode is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModeStep {
    /// It is set already.
    Already,
    /// By this option.
    Option(String),
    /// By the protocol's older request for modes.
    Mode,
    /// The program does not offer it.
    NotOffered,
}

/// A program did not confirm a mode. The text ends a state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("starts in mode {} and does not accept {wanted}", .is.as_deref().unwrap_or("of no name"))]
pub struct ConfirmError {
    pub is: Option<String>,
    pub wanted: String,
}

fn option(session: &Session) -> Option<&ConfigOption> {
    let is_mode = |option: &&ConfigOption| option.category.as_deref() == Some(CATEGORY);
    session.options.iter().find(is_mode)
}

/// Returns the mode of a session, as its option says, else as its modes do.
pub fn current_mode(session: &Session) -> Option<&str> {
    let of_option = option(session).map(|option| option.current.as_str());
    of_option.or_else(|| session.modes.as_ref().map(|modes| modes.current.as_str()))
}

/// Decides how the mode `wanted` is set. An option goes first where both are there, and both must agree that it is set.
pub fn mode_step(session: &Session, wanted: &str) -> ModeStep {
    let modes = session.modes.as_ref();
    if let Some(option) = option(session) {
        let agrees = modes.is_none_or(|modes| modes.current == wanted);
        if option.current == wanted && agrees {
            return ModeStep::Already;
        }
        if option.values.iter().any(|value| value == wanted) {
            return ModeStep::Option(option.id.clone());
        }
    }
    match modes {
        Some(modes) if modes.current == wanted && option(session).is_none() => ModeStep::Already,
        Some(modes) if modes.available.iter().any(|mode| mode == wanted) => ModeStep::Mode,
        Some(_) | None => ModeStep::NotOffered,
    }
}

/// A program does not have a model. The text ends a state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("does not offer the model {0}")]
pub struct NoModel(pub String);

/// Returns the option that is the model, if there is one that has `wanted`.
pub(crate) fn model_option<'a>(session: &'a Session, wanted: &str) -> Option<&'a ConfigOption> {
    let options = session.options.iter();
    let mut models = options.filter(|option| option.category.as_deref() == Some("model"));
    models.find(|option| option.values.iter().any(|value| value == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModeState;

    fn session(mode: Option<&str>, option: Option<&str>) -> Session {
        Session {
            id: "s".to_owned(),
            modes: mode.map(|mode| ModeState {
                current: mode.to_owned(),
                available: vec!["auto".to_owned(), "default".to_owned()],
            }),
            options: option
                .map(|value| ConfigOption {
                    id: "m".to_owned(),
                    category: Some("mode".to_owned()),
                    current: value.to_owned(),
                    values: vec!["auto".to_owned(), "default".to_owned()],
                })
                .into_iter()
                .collect(),
        }
    }

    #[test]
    fn the_option_goes_first_and_both_must_agree() {
        for (mode, option, step) in [
            (Some("default"), None, ModeStep::Already),
            (Some("auto"), None, ModeStep::Mode),
            (None, Some("default"), ModeStep::Already),
            (None, Some("auto"), ModeStep::Option("m".to_owned())),
            (
                Some("auto"),
                Some("default"),
                ModeStep::Option("m".to_owned()),
            ),
            (
                Some("default"),
                Some("auto"),
                ModeStep::Option("m".to_owned()),
            ),
            (None, None, ModeStep::NotOffered),
        ] {
            assert_eq!(
                mode_step(&session(mode, option), "default"),
                step,
                "{mode:?} {option:?}"
            );
        }
        assert_eq!(
            mode_step(&session(Some("auto"), Some("auto")), "plan"),
            ModeStep::NotOffered
        );
        assert_eq!(
            current_mode(&session(Some("auto"), Some("default"))),
            Some("default")
        );
    }
}

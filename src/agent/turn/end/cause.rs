//! Why no model answered, and what people can do about it: the next step in the failure report, and its buttons.

use chrono::{DateTime, Utc};

use super::reason::EndReason;
use super::reply;
use crate::llm::{FailureClass, Target};
use crate::store::PartButton;
use crate::text::escape;

/// Bytes of a model's name in the id of a button, which takes 100.
const MOST_NAMED: usize = 90;

/// The last failure of a request to a model.
#[derive(Clone, Debug)]
pub(in crate::agent) struct ModelFailure {
    pub(in crate::agent) class: FailureClass,
    /// The model that was asked.
    pub(in crate::agent) target: Target,
    /// The variable that holds the key of its provider, if it is known.
    pub(in crate::agent) variable: Option<String>,
    /// When the provider takes requests again, where it said so and that is not soon.
    pub(in crate::agent) until: Option<DateTime<Utc>>,
}

/// What has to happen before a further try can succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remedy {
    ReplaceKey,
    AddCredit,
    WaitUntil(DateTime<Utc>),
    WaitForProvider,
    /// The cause is not known to pass by itself.
    Other,
}

impl ModelFailure {
    fn remedy(&self) -> Remedy {
        match (self.class, self.until) {
            (FailureClass::AuthError, _) => Remedy::ReplaceKey,
            (FailureClass::QuotaExceeded, _) => Remedy::AddCredit,
            (FailureClass::RateLimit, Some(until)) => Remedy::WaitUntil(until),
            (
                FailureClass::RateLimit
                | FailureClass::ServerError
                | FailureClass::NetworkError
                | FailureClass::Timeout,
                _,
            ) => Remedy::WaitForProvider,
            _ => Remedy::Other,
        }
    }

    /// The next step, in a sentence or two.
    pub(in crate::agent) fn next_step(&self) -> Option<String> {
        let provider = escape::text(&self.target.provider);
        Some(match self.remedy() {
            Remedy::ReplaceKey => format!(
                "The key for **{provider}** was refused. The operator must replace it{}.",
                self.where_the_key_is()
            ),
            Remedy::AddCredit => {
                let renews = self.until.map_or_else(String::new, |until| {
                    format!(" It renews <t:{}:R>.", until.timestamp())
                });
                format!("The account at **{provider}** needs credit.{renews}")
            }
            Remedy::WaitUntil(until) => format!("Rate limit until <t:{}:R>.", until.timestamp()),
            Remedy::WaitForProvider => {
                format!("**{provider}** is down, overloaded or cannot be reached. Try again later.")
            }
            Remedy::Other => return None,
        })
    }

    /// The next step for the operator.
    pub(in crate::agent) fn for_operator(&self) -> Option<String> {
        let provider = escape::text(&self.target.provider);
        match self.remedy() {
            Remedy::ReplaceKey => Some(format!(
                "Replace the key for {provider} with `chorus init`{}, then restart. Until then users can choose another model.",
                self.variable
                    .as_ref()
                    .map_or_else(String::new, |variable| format!(" or in `{variable}`"))
            )),
            Remedy::AddCredit => Some(format!(
                "Add credit to the account at {provider}, or choose another model with `/settings model`."
            )),
            Remedy::WaitUntil(_) | Remedy::WaitForProvider | Remedy::Other => None,
        }
    }

    fn where_the_key_is(&self) -> String {
        self.variable
            .as_ref()
            .map_or_else(String::new, |variable| format!(" (`{variable}`)"))
    }

    /// The buttons that can help: the first, and those beside it.
    pub(in crate::agent) fn buttons(&self) -> (Option<PartButton>, Vec<PartButton>) {
        let (first, without) = match self.remedy() {
            Remedy::ReplaceKey | Remedy::AddCredit => (None, self.target.provider.clone()),
            Remedy::WaitUntil(until) => (
                Some(PartButton::new(
                    format!("then:{}", until.timestamp()),
                    "Try again then",
                )),
                self.target.to_string(),
            ),
            Remedy::WaitForProvider | Remedy::Other => {
                (reply::button(EndReason::Failed), self.target.to_string())
            }
        };
        let without = &without[..without.floor_char_boundary(MOST_NAMED)];
        let other = PartButton::new(format!("other:{without}"), "Use another model");
        (first, vec![other])
    }
}

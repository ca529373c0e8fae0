//! Which models an agent asks, and how much room they have.

pub(super) mod budget;
pub(super) mod budget_days;

use std::sync::Arc;

use crate::llm::discovery::{Available, Models as Discovered, Resolved};
use crate::llm::local::Reach;
use crate::llm::route::Router;
use crate::llm::{DEMO, LlmError, Target};

/// Preferred for small things, where available: a summary of instructions, a prompt made from a description.
const SMALL: [&str; 3] = ["haiku", "gpt-5-nano", "gemini-2.5-flash-lite"];

/// The part of a window, one in so many, that stays free beside the answer, for what estimates miss.
const BUFFER: u64 = 20;

/// Why there is no model to ask, or none of that name. The text is for people.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ModelError {
    #[error(
        "no model provider is configured; set ANTHROPIC_API_KEY or OPENAI_API_KEY, or add your own server under `providers` in config.json"
    )]
    NoProvider,
    /// No provider listed a model; what each of them said.
    #[error("{}", no_list(.0))]
    NothingListed(Vec<String>),
    /// None of the chosen models is available.
    #[error("there is no model {}; choose another with `/agent config` (see `/models`)", quoted(.0))]
    NotThere(Vec<String>),
    /// The agent may ask local models only; the text says which agent.
    #[error("{0} is limited to local models, and none is configured.")]
    NoneLocal(String),
    #[error("The demo model stands in while there is no other; it cannot be chosen.")]
    Demo,
    #[error("There is no model `{name}`. {}", near_names(.near))]
    NotFound { name: String, near: Vec<String> },
    #[error("Could not check whether `{name}` exists: {error}.")]
    NotAsked {
        name: String,
        #[source]
        error: Box<LlmError>,
    },
}

fn quoted(names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn near_names(near: &[String]) -> String {
    if near.is_empty() {
        "See `/models`. For an unlisted model write `provider/model`.".to_owned()
    } else {
        let near: Vec<_> = near.iter().map(|name| format!("`{name}`")).collect();
        format!("Did you mean {}?", near.join(" or "))
    }
}

fn no_list(errors: &[String]) -> String {
    match errors {
        [] => "no provider offers a model; load one in your model server, or choose one with `/settings model`".to_owned(),
        errors => format!("no provider lists a model ({})", errors.join("; ")),
    }
}

/// The models that agents ask.
#[derive(Debug)]
pub struct Models {
    known: Discovered,
    router: Router,
}

impl Models {
    /// Asks the models of `known` through `router`.
    pub fn new(known: Discovered, router: Router) -> Self {
        Self { known, router }
    }

    /// What is known about models and providers.
    pub fn known(&self) -> &Discovered {
        &self.known
    }

    /// What asks them.
    pub fn router(&self) -> &Router {
        &self.router
    }

    /// The result of the last discovery.
    pub fn available(&self) -> Option<Arc<Available>> {
        self.known.available()
    }

    /// The model that a person means by `name`, with its provider, as configurations hold it: another provider may offer
    /// a model of the same id later, and would get the words and the bill. A provider that was never asked is asked now.
    ///
    /// # Errors
    ///
    /// When there is no such model, or its provider does not answer.
    pub async fn resolve(&self, name: &str) -> Result<String, ModelError> {
        let shown = || crate::text::one_line(name, 80);
        match self.known.resolve_asking(name).await {
            Ok(
                Resolved::Found(target)
                | Resolved::Unlisted(target)
                | Resolved::Undiscovered(target),
            ) if target.provider == DEMO => Err(ModelError::Demo),
            Ok(
                Resolved::Found(target)
                | Resolved::Unlisted(target)
                | Resolved::Undiscovered(target),
            ) => Ok(target.to_string()),
            Ok(Resolved::NotFound { near }) => Err(ModelError::NotFound {
                name: shown(),
                near,
            }),
            Ok(Resolved::NoProvider) => Err(ModelError::NoProvider),
            Err(error) => Err(ModelError::NotAsked {
                name: shown(),
                error: Box::new(error),
            }),
        }
    }

    /// Whether there is a model of this name, as far as is known; if not, names that are similar.
    ///
    /// # Errors
    ///
    /// When its provider lists no such model.
    pub fn is_there(&self, name: &str) -> Result<(), Vec<String>> {
        match self.known.resolve(name) {
            Resolved::NotFound { near } => Err(near),
            Resolved::Found(_)
            | Resolved::Unlisted(_)
            | Resolved::Undiscovered(_)
            | Resolved::NoProvider => Ok(()),
        }
    }

    /// The targets that a turn asks, in order; with no names, the model that is used where nobody chose one.
    ///
    /// # Errors
    ///
    /// When there is no target.
    pub fn targets(&self, names: &[String]) -> Result<Vec<Target>, ModelError> {
        let mut targets = Vec::new();
        let mut unknown = Vec::new();
        for name in names {
            match self.known.resolve(name) {
                Resolved::Found(target)
                | Resolved::Unlisted(target)
                | Resolved::Undiscovered(target) => {
                    if !targets.contains(&target) {
                        targets.push(target);
                    }
                }
                Resolved::NotFound { .. } => unknown.push(name.clone()),
                Resolved::NoProvider => return Err(ModelError::NoProvider),
            }
        }
        if !targets.is_empty() {
            return Ok(targets);
        }
        if !unknown.is_empty() {
            return Err(ModelError::NotThere(unknown));
        }
        if self.known.providers().is_empty() {
            return Err(ModelError::NoProvider);
        }
        let first = self.known.first_available();
        Ok(vec![first.ok_or_else(|| self.nothing_listed())?])
    }

    /// Leaves out targets that requests of this reach may not go to. `who` is whose requests these are.
    ///
    /// # Errors
    ///
    /// When none is left.
    pub fn within(
        &self,
        reach: Reach,
        mut targets: Vec<Target>,
        who: impl FnOnce() -> String,
    ) -> Result<Vec<Target>, ModelError> {
        if reach == Reach::Local {
            let providers = self.known.providers();
            targets.retain(|target| providers.is_nearby(&target.provider));
            if targets.is_empty() {
                return Err(ModelError::NoneLocal(who()));
            }
        }
        Ok(targets)
    }

    /// Why there is no model to use where nobody chose one.
    fn nothing_listed(&self) -> ModelError {
        let available = self.available();
        let providers = available.iter().flat_map(|all| &all.providers);
        let errors = providers
            .filter_map(|(name, listed)| Some(format!("{name}: {}", listed.error.as_ref()?)));
        ModelError::NothingListed(errors.collect())
    }

    /// Most output tokens: the smallest maximum of the targets.
    pub fn max_output(&self, targets: &[Target]) -> u32 {
        let outputs = targets.iter().map(|target| {
            self.known
                .catalog()
                .facts(target)
                .max_output
                .min(most_output(&self.known.catalog().facts(target)))
        });
        outputs.min().unwrap_or(crate::llm::route::DEFAULT_OUTPUT)
    }

    /// Tokens that the window of `target` holds.
    pub fn window(&self, target: &Target) -> u64 {
        self.known.catalog().facts(target).window
    }

    /// Tokens that a request to `target` may take, so that an answer and a buffer still fit.
    pub fn room(&self, target: &Target) -> u64 {
        let facts = self.known.catalog().facts(target);
        let answer = u64::from(most_output(&facts));
        facts.window.saturating_sub(answer + facts.window / BUFFER)
    }

    /// A small model of a provider that `targets` use anyway: what an agent works on is sent to no further one.
    pub fn small_beside(&self, targets: &[Target]) -> Option<Target> {
        let all = self.known.all();
        let is_beside = |small: &Target| {
            let mut providers = targets.iter().map(|target| &target.provider);
            all.contains(small) && providers.any(|provider| *provider == small.provider)
        };
        SMALL
            .iter()
            .find_map(|name| match self.known.resolve(name) {
                Resolved::Found(small) if is_beside(&small) => Some(small),
                _ => None,
            })
    }
}

/// An answer takes at most a quarter of a window, or a small window would hold nothing else.
fn most_output(facts: &crate::llm::catalog::ModelFacts) -> u32 {
    let quarter = u32::try_from(facts.window / 4).unwrap_or(u32::MAX);
    facts
        .max_output
        .min(quarter)
        .min(crate::llm::route::DEFAULT_OUTPUT)
}

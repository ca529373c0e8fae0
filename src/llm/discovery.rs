//! Finds the available models: asks the providers, stores the answers in `available_models.json`, and resolves names.

mod available;
mod cache;
mod choice;
mod resolve;
mod shortcuts;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use futures_util::future::join_all;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::{debug, info, warn};

pub use available::{Available, Listed};
pub use cache::{load, save};
pub use choice::Choice;
pub use resolve::Resolved;

use super::catalog::Catalog;
use super::error::{FailureClass, LlmError};
use super::listing::{Listing, distinct};
use super::provider::{Delta, Request};
use super::providers::Providers;
use super::quirks::Quirks;
use super::target::Target;
use crate::clock;
use crate::domain::{Item, UserText};

/// Longest time that discovery waits for a provider.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Output tokens of the request that shows whether an unlisted model exists; some servers refuse fewer.
const TRIED_WITH: u32 = 16;

/// The available models. Cheap to clone; all clones see what discovery finds.
#[derive(Clone, Debug)]
pub struct Models {
    providers: Arc<Providers>,
    catalog: Arc<Catalog>,
    available: Arc<ArcSwapOption<Available>>,
    /// The file that keeps the result for the next start.
    file: Option<Arc<Path>>,
    /// Held while a provider is asked because an agent waits for it, so that ten waiting agents ask only once.
    asking: Arc<tokio::sync::Mutex<()>>,
    /// Notified of each new finding.
    changed: Arc<watch::Sender<()>>,
}

impl Models {
    /// Creates it with the models of `providers`; `known` is the result of an earlier discovery.
    pub fn new(providers: Arc<Providers>, catalog: Arc<Catalog>, known: Option<Available>) -> Self {
        Self {
            providers,
            catalog,
            available: Arc::new(ArcSwapOption::from_pointee(known)),
            file: None,
            asking: Arc::default(),
            changed: Arc::new(watch::Sender::new(())),
        }
        .taught()
    }

    /// Uses `providers` from now on.
    pub fn use_providers(&self, providers: &Providers) {
        self.providers.replace(providers);
        self.catalog.tell_free(providers.free());
    }

    /// Passes the servers' reports about their models to the catalog, and the providers that send no bill.
    fn taught(self) -> Self {
        self.catalog.tell_free(self.providers.free());
        if let Some(available) = self.available() {
            self.teach(&available);
        }
        self
    }

    fn teach(&self, available: &Available) {
        let told = available.providers.iter().flat_map(|(name, listed)| {
            let told = listed.abilities.iter();
            told.map(move |(model, abilities)| (Target::new(name, model), *abilities))
        });
        self.catalog.tell(told);
    }

    /// Creates it with the models of `providers` and the result of an earlier discovery in `file`; later results are
    /// also stored there.
    pub fn remembered(
        providers: Arc<Providers>,
        catalog: Arc<Catalog>,
        file: impl Into<Arc<Path>>,
    ) -> Self {
        let file = file.into();
        Self {
            file: Some(Arc::clone(&file)),
            ..Self::new(providers, catalog, load(&file))
        }
    }

    /// Asks every provider for its models, at most 30 s, and stores their lists. The earlier list of a provider that does
    /// not answer is kept.
    pub async fn discover(&self) -> Arc<Available> {
        let known = self.available();
        let known = |name: &str| known.as_deref()?.providers.get(name).cloned();
        let asked = self
            .providers
            .all()
            .into_iter()
            .map(|(name, provider)| async move {
                let listed = match timeout(TIMEOUT, provider.list_models()).await {
                    Ok(Ok(listing)) => found(listing, known(&name)),
                    Ok(Err(error)) => Listed {
                        error: Some(error.message),
                        ..if says_nothing(error.class) {
                            known(&name).unwrap_or_default()
                        } else {
                            Listed::default()
                        }
                    },
                    Err(_) => Listed {
                        error: Some("no list of models within 30 s".to_owned()),
                        ..known(&name).unwrap_or_default()
                    },
                };
                (name, listed)
            });
        let found = Arc::new(Available {
            last_updated: clock::now(),
            providers: join_all(asked).await.into_iter().collect(),
        });
        self.keep(Arc::clone(&found)).await;
        found
    }

    /// Keeps the result, and writes it to the file.
    async fn keep(&self, found: Arc<Available>) {
        self.teach(&found);
        self.available.store(Some(Arc::clone(&found)));
        self.changed.send_replace(());
        let Some(file) = self.file.clone() else {
            return;
        };
        let saved = spawn_blocking(move || save(&file, &found).map_err(|error| (error, file)));
        match saved.await {
            Ok(Ok(())) => {}
            Ok(Err((error, file))) => warn!("failed to write {}: {error}", file.display()),
            Err(error) => warn!("failed to write the list of models: {error}"),
        }
    }

    /// Returns the result of the last discovery, if there was one.
    pub fn available(&self) -> Option<Arc<Available>> {
        self.available.load_full()
    }

    /// Returns a receiver that is notified of each new finding about the models.
    pub fn follow(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    pub fn providers(&self) -> &Arc<Providers> {
        &self.providers
    }

    /// Returns every known model, sorted: discovered models and those named in `config.json`.
    pub fn all(&self) -> Vec<Target> {
        let available = self.available.load();
        let discovered = available.iter().flat_map(|available| &available.providers);
        let discovered =
            discovered.filter(|(name, listed)| listed.valid && self.providers.get(name).is_some());
        let discovered = discovered.flat_map(|(name, listed)| {
            let models = listed.models.iter().chain(&listed.unlisted);
            models.map(move |model| Target::new(name, model))
        });
        let declared = self.providers.all().into_iter().flat_map(|(name, _)| {
            let declared = self.providers.declared(&name).into_iter();
            declared.map(move |model| Target::new(&name, model))
        });
        let mut all: Vec<Target> = discovered.chain(declared).collect();
        all.sort_by(|a, b| (&a.model, &a.provider).cmp(&(&b.model, &b.provider)));
        all.dedup();
        all
    }

    /// Finds the target that people mean by `name`.
    pub fn resolve(&self, name: &str) -> Resolved {
        let available = self.available.load();
        resolve::resolve(name, &self.all(), &self.providers, available.as_deref())
    }

    /// Resolves like [`Models::resolve`], but asks the provider if needed. That is so if it was never asked for its
    /// list, or if its list does not contain the named `provider/model`: the model may answer anyway.
    pub async fn resolve_asking(&self, name: &str) -> Result<Resolved, LlmError> {
        let mut resolved = self.resolve(name);
        if let Resolved::Undiscovered(target) = &resolved
            && let Some(provider) = self.providers.get(&target.provider)
        {
            let _alone = self.asking.lock().await;
            let listing = match timeout(TIMEOUT, provider.list_models()).await {
                Ok(listing) => listing?,
                Err(_) => return Ok(resolved),
            };
            self.change(&target.provider, |known| {
                *known = found(listing, Some(known.clone()))
            })
            .await;
            resolved = self.resolve(name);
        }
        let Resolved::NotFound { .. } = resolved else {
            return Ok(resolved);
        };
        let Some(target) = resolve::qualified(name, &self.providers) else {
            return Ok(resolved);
        };
        let _alone = self.asking.lock().await;
        if self.resolve(name) != Resolved::Found(target.clone()) && self.answers(&target).await? {
            self.change(&target.provider, |known| {
                known.unlisted.push(target.model.clone());
            })
            .await;
        }
        Ok(self.resolve(name))
    }

    /// Finds out the facts a turn needs before it asks one of `names`, or the default model if that is empty. A server
    /// may have been started since discovery, and a configuration may name a model that no list has.
    pub async fn prepare(&self, names: &[String]) {
        if names.is_empty() && !self.providers.is_empty() && self.first_available().is_none() {
            let _alone = self.asking.lock().await;
            if self.first_available().is_none() {
                self.discover().await;
            }
        }
        let missing = |name: &&String| matches!(self.resolve(name), Resolved::NotFound { .. });
        for name in names.iter().filter(missing) {
            // The request itself reports the problem.
            if let Err(error) = self.resolve_asking(name).await {
                debug!("failed to find out whether {name} is there: {error}");
            }
        }
    }

    /// Returns whether `target` answers a one-word question.
    async fn answers(&self, target: &Target) -> Result<bool, LlmError> {
        let Some(provider) = self.providers.get(&target.provider) else {
            return Ok(false);
        };
        let request = Request {
            model: target.model.clone(),
            system: Vec::new(),
            items: Arc::new(vec![Item::User(UserText {
                text: "Say yes.".to_owned(),
                ..UserText::default()
            })]),
            tools: Arc::default(),
            max_output_tokens: TRIED_WITH,
            web_search: false,
            sees_images: false,
            refused: Arc::default(),
            quirks: Quirks::default(),
            thinking: None,
        };
        let body = provider.encode(&request)?;
        match timeout(TIMEOUT, provider.stream(&body, &mut |_: Delta<'_>| {})).await {
            Ok(Ok(_)) => Ok(true),
            Ok(Err(error)) if says_nothing(error.class) => Err(error),
            // A model that has to be loaded first may take long; this is not a refusal.
            Err(_) => Ok(true),
            Ok(Err(error)) => {
                info!("{target} is not there: {error}");
                Ok(false)
            }
        }
    }

    /// Changes the stored facts about a provider.
    async fn change(&self, provider: &str, change: impl FnOnce(&mut Listed)) {
        let mut known = self.available().map_or_else(
            || Available {
                last_updated: clock::now(),
                providers: BTreeMap::new(),
            },
            |known| (*known).clone(),
        );
        change(known.providers.entry(provider.to_owned()).or_default());
        self.keep(Arc::new(known)).await;
    }
}

/// Merges a provider's list with the facts about its unlisted models.
fn found(listing: Listing, known: Option<Listed>) -> Listed {
    let models = distinct(listing.models);
    let mut unlisted = known.unwrap_or_default().unlisted;
    unlisted.retain(|model| !models.contains(model));
    Listed {
        valid: true,
        models,
        unlisted,
        abilities: listing.abilities,
        error: None,
    }
}

/// Returns whether a failure of this class says nothing about the key and the models: the provider could not be reached, or
/// has a problem.
pub fn says_nothing(class: FailureClass) -> bool {
    match class {
        FailureClass::NetworkError
        | FailureClass::Timeout
        | FailureClass::RateLimit
        | FailureClass::ServerError
        | FailureClass::InvalidResponse => true,
        FailureClass::AuthError
        | FailureClass::QuotaExceeded
        | FailureClass::ModelError
        | FailureClass::ContextExceeded
        | FailureClass::InvalidRequest => false,
    }
}

//! Which models there are: asked of the providers, kept in `available_models.json`, resolved by name.

mod available;
mod cache;
mod choice;
mod resolve;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use futures_util::future::join_all;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::warn;

pub use available::{Available, Listed};
pub use cache::{load, save};
pub use choice::Choice;
pub use resolve::Resolved;

use super::catalog::Catalog;
use super::error::{FailureClass, LlmError};
use super::listing::sorted;
use super::providers::Providers;
use super::target::Target;
use crate::clock;

/// Longest that discovery waits for a provider.
const PATIENCE: Duration = Duration::from_secs(30);

/// The models that can be asked. Cheap to clone; all clones see what discovery finds.
#[derive(Clone, Debug)]
pub struct Models {
    providers: Arc<Providers>,
    catalog: Arc<Catalog>,
    available: Arc<ArcSwapOption<Available>>,
    /// Where it is remembered for the next start.
    file: Option<Arc<Path>>,
}

impl Models {
    /// The models of `providers`; `known` is what an earlier discovery found.
    pub fn new(providers: Arc<Providers>, catalog: Arc<Catalog>, known: Option<Available>) -> Self {
        Self {
            providers,
            catalog,
            available: Arc::new(ArcSwapOption::from_pointee(known)),
            file: None,
        }
    }

    /// The models of `providers`, with what an earlier discovery left in `file`; later ones are kept there too.
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

    /// Asks every provider for its models, at most 30 s, and keeps what they say. One that is down keeps the list that it
    /// gave before.
    pub async fn discover(&self) -> Arc<Available> {
        let known = self.available();
        let known = |name: &str| known.as_deref()?.providers.get(name).cloned();
        let asked = self.providers.iter().map(|(name, provider)| async move {
            let listed = match timeout(PATIENCE, provider.list_models()).await {
                Ok(Ok(models)) => Listed {
                    valid: true,
                    models: sorted(models),
                    error: None,
                },
                Ok(Err(error)) => Listed {
                    error: Some(error.message),
                    ..if says_nothing(error.class) {
                        known(name).unwrap_or_default()
                    } else {
                        Listed::default()
                    }
                },
                Err(_) => Listed {
                    error: Some("no list within 30 s".to_owned()),
                    ..known(name).unwrap_or_default()
                },
            };
            (name.to_owned(), listed)
        });
        let found = Arc::new(Available {
            last_updated: clock::now(),
            providers: join_all(asked).await.into_iter().collect(),
        });
        self.keep(Arc::clone(&found)).await;
        found
    }

    /// Holds what was found, and writes it down.
    async fn keep(&self, found: Arc<Available>) {
        self.available.store(Some(Arc::clone(&found)));
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

    /// What discovery found last, if it ever did.
    pub fn available(&self) -> Option<Arc<Available>> {
        self.available.load_full()
    }

    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    pub fn providers(&self) -> &Arc<Providers> {
        &self.providers
    }

    /// Every model that is known to be there, sorted: discovered ones and those that `config.json` names.
    pub fn all(&self) -> Vec<Target> {
        let available = self.available.load();
        let discovered = available.iter().flat_map(|available| &available.providers);
        let discovered =
            discovered.filter(|(name, listed)| listed.valid && self.providers.get(name).is_some());
        let discovered = discovered.flat_map(|(name, listed)| {
            listed
                .models
                .iter()
                .map(move |model| Target::new(name, model))
        });
        let declared = self.providers.iter().flat_map(|(name, _)| {
            self.providers
                .declared(name)
                .iter()
                .map(move |model| Target::new(name, model))
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

    /// As [`Models::resolve`], and asks a provider that was never asked.
    pub async fn resolve_asking(&self, name: &str) -> Result<Resolved, LlmError> {
        let resolved = self.resolve(name);
        let Resolved::Undiscovered(target) = &resolved else {
            return Ok(resolved);
        };
        let Some(provider) = self.providers.get(&target.provider) else {
            return Ok(resolved);
        };
        let models = match timeout(PATIENCE, provider.list_models()).await {
            Ok(models) => sorted(models?),
            Err(_) => return Ok(resolved),
        };
        let mut known = self.available().map_or_else(
            || Available {
                last_updated: clock::now(),
                providers: BTreeMap::new(),
            },
            |known| (*known).clone(),
        );
        known.providers.insert(
            target.provider.clone(),
            Listed {
                valid: true,
                models,
                error: None,
            },
        );
        self.keep(Arc::new(known)).await;
        Ok(self.resolve(name))
    }
}

/// Whether a failure of this class says nothing of the key and the models: the provider could not be reached, or is ill.
fn says_nothing(class: FailureClass) -> bool {
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

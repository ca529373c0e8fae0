//! Turns the name that a person wrote into a target. Pure.

use super::available::Available;
use crate::llm::catalog::Catalog;
use crate::llm::providers::Providers;
use crate::llm::target::Target;

/// Most similar names that are suggested.
const MAX_NEAR: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// This model, which is known to exist.
    Found(Target),
    /// This model, of a provider that cannot list its models.
    Unlisted(Target),
    /// Possibly this one: its provider was never asked.
    Undiscovered(Target),
    /// No such model; these names are similar.
    NotFound {
        /// Similar names, the most similar first.
        near: Vec<String>,
    },
    /// No provider is configured.
    NoProvider,
}

/// Finds what `name` means: a whole id, `provider/id`, a shortcut, or a part of an id.
pub(super) fn resolve(
    name: &str,
    all: &[Target],
    providers: &Providers,
    available: Option<&Available>,
) -> Resolved {
    let name = name.trim();
    if providers.is_empty() {
        return Resolved::NoProvider;
    }
    if name.is_empty() {
        return Resolved::NotFound { near: Vec::new() };
    }
    if let Some(Target { provider, model }) = qualified(name, providers) {
        return of_provider(&provider, &model, all, available);
    }
    if let Some(target) = all.iter().find(|target| target.model == name) {
        return Resolved::Found(target.clone());
    }
    let shortcut = Catalog::shortcuts()
        .iter()
        .find(|shortcut| shortcut.name.eq_ignore_ascii_case(name));
    if let Some(target) =
        shortcut.and_then(|shortcut| all.iter().find(|target| target.model == shortcut.model))
    {
        return Resolved::Found(target.clone());
    }
    let lower = name.to_lowercase();
    if let Some(target) = all
        .iter()
        .find(|target| target.model.to_lowercase().contains(&lower))
    {
        return Resolved::Found(target.clone());
    }
    let model = shortcut.map_or(name, |shortcut| shortcut.model.as_str());
    match maker(model, providers) {
        Some(provider) => of_provider(&provider, model, all, available),
        None => unowned(model, all, providers, available),
    }
}

/// Returns the target that `name` spells out: `provider/model`.
pub(super) fn qualified(name: &str, providers: &Providers) -> Option<Target> {
    let (provider, model) = name.trim().split_once('/')?;
    let is_known = providers.get(provider).is_some() && !model.is_empty();
    is_known.then(|| Target::new(provider, model))
}

/// Resolves `model` of a known provider.
fn of_provider(
    provider: &str,
    model: &str,
    all: &[Target],
    available: Option<&Available>,
) -> Resolved {
    let target = Target::new(provider, model);
    if all.contains(&target) {
        return Resolved::Found(target);
    }
    match available.and_then(|available| available.providers.get(provider)) {
        None => Resolved::Undiscovered(target),
        Some(listed) if listed.models.is_empty() => Resolved::Unlisted(target),
        Some(_) => Resolved::NotFound {
            near: near(model, all),
        },
    }
}

/// Resolves a name that does not resemble any maker's names: it may be the model of any provider that cannot list its
/// models or was never asked.
fn unowned(
    model: &str,
    all: &[Target],
    providers: &Providers,
    available: Option<&Available>,
) -> Resolved {
    let mut guesses = providers
        .all()
        .into_iter()
        .map(|(name, _)| of_provider(&name, model, all, available));
    let passes =
        |guess: &Resolved| matches!(guess, Resolved::Undiscovered(_) | Resolved::Unlisted(_));
    guesses.find(passes).unwrap_or_else(|| Resolved::NotFound {
        near: near(model, all),
    })
}

/// Returns the configured provider with model names like `model`.
fn maker(model: &str, providers: &Providers) -> Option<String> {
    const FAMILIES: &[(&str, &[&str])] = &[
        ("anthropic", &["claude"]),
        ("openai", &["gpt-", "chatgpt-", "o1", "o3", "o4"]),
        ("gemini", &["gemini", "gemma"]),
    ];
    let by_name = FAMILIES
        .iter()
        .find(|(_, prefixes)| prefixes.iter().any(|prefix| model.starts_with(prefix)));
    let maker = Catalog::maker_of(model).or_else(|| by_name.map(|(provider, _)| *provider))?;
    providers.get(maker).map(|_| maker.to_owned())
}

/// Returns names that `name` may have meant.
fn near(name: &str, all: &[Target]) -> Vec<String> {
    let lower = name.to_lowercase();
    let score = |target: &Target| strsim::jaro_winkler(&lower, &target.model.to_lowercase());
    let mut scored: Vec<(f64, &str)> = all
        .iter()
        .map(|target| (score(target), target.model.as_str()))
        .collect();
    scored.retain(|(score, _)| *score > 0.75);
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.dedup_by(|a, b| a.1 == b.1);
    scored
        .into_iter()
        .take(MAX_NEAR)
        .map(|(_, model)| model.to_owned())
        .collect()
}

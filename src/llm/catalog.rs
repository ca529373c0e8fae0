//! Facts about models: windows, limits, prices, abilities.
//!
//! They come from a dated table that is compiled in (`data/models.json`, updated as `docs/maintaining/models-json.md`
//! describes) and from `config.json`, which overrides it. A model that neither lists is used with a window of 128,000
//! tokens and an unknown price.

mod learned;
mod learning;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};

use parking_lot::RwLock;
use serde::Deserialize;

use super::listing::Abilities;
use super::quirks::Quirks;
use super::target::Target;
use crate::config::{Effort, ModelOverride};
use crate::domain::{Cost, Usage};
use learned::{Learned, LearnedWindow};

/// Window of an unknown model.
const UNKNOWN_WINDOW: u64 = 128_000;

/// Output limit of an unknown model: even old models reach it.
const UNKNOWN_MAX_OUTPUT: u32 = 8_192;

/// A window of fewer tokens is small for an agent: its prompt and its tools take about 3,000 of them before the first
/// message.
pub const SMALL_WINDOW: u64 = 16_384;

/// Smallest window that is believed when a provider names it.
const MIN_WINDOW: u64 = 512;

/// Number of tokens that prices refer to.
const PRICED_TOKENS: f64 = 1_000_000.0;

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    // The file is part of the program, and a test reads it; if it were invalid every model would be unknown.
    serde_json::from_str(include_str!("data/models.json")).unwrap_or_default()
});

static BY_ID: LazyLock<HashMap<(&str, &str), &Entry>> = LazyLock::new(|| {
    let keyed = TABLE
        .models
        .iter()
        .map(|entry| ((entry.provider.as_str(), entry.id.as_str()), entry));
    keyed.collect()
});

/// Providers that make their own models, which others serve too.
const MAKERS: [&str; 6] = [
    "anthropic",
    "openai",
    "gemini",
    "deepseek",
    "mistral",
    "xai",
];

/// The rows of makers; if two have the same name, the first maker's.
static BY_NAME: LazyLock<HashMap<&str, &Entry>> = LazyLock::new(|| {
    let mut rows = HashMap::new();
    for maker in MAKERS {
        for entry in TABLE.models.iter().filter(|entry| entry.provider == maker) {
            rows.entry(entry.id.as_str()).or_insert(entry);
        }
    }
    rows
});

#[derive(Default, Deserialize)]
struct Table {
    date: String,
    shortcuts: Vec<Shortcut>,
    models: Vec<Entry>,
}

/// A command that asks one model: `/haiku`, `/opus`, ….
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Shortcut {
    pub name: String,
    pub model: String,
    /// The model's name for people.
    pub display: String,
}

#[derive(Deserialize)]
struct Entry {
    provider: String,
    id: String,
    window: Option<u64>,
    max_output: Option<u32>,
    price: Option<Price>,
    images: Option<bool>,
    tools: Option<bool>,
    #[serde(default)]
    thinking: bool,
    #[serde(default)]
    web_search: bool,
    #[serde(default)]
    responses: bool,
}

/// The facts about one model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFacts {
    /// Tokens in its window, including the answer.
    pub window: u64,
    /// Most tokens of an answer; never more than half its window.
    pub max_output: u32,
    /// Its price; `None` if that is not known.
    pub price: Option<Price>,
    pub images: bool,
    pub tools: bool,
    /// Whether it can think before it answers.
    pub thinking: bool,
    /// How long the operator lets it think; `None` leaves that to the model.
    pub effort: Option<Effort>,
    /// Whether its provider can search the web for it.
    pub web_search: bool,
    /// Whether OpenAI serves it only through Responses.
    pub responses: bool,
    /// How its server differs from its format.
    pub quirks: Quirks,
    /// Most pictures in a request, if its server reported it.
    pub pictures: Option<usize>,
    /// Most bytes of all pictures in a request, if a larger one was refused.
    pub picture_bytes: Option<usize>,
    /// Whether the table, the configuration or its server has facts about it.
    pub known: bool,
}

/// Prices in US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Price {
    pub input: f64,
    /// Output, including thinking.
    pub output: f64,
    /// Input read from the cache; `None` means the price of input.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// Input written to the cache; `None` means the price of input.
    #[serde(default)]
    pub cache_write: Option<f64>,
    /// Other prices for long requests.
    #[serde(default)]
    pub long: Option<LongPrice>,
}

/// Prices of a request with an input longer than `above`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct LongPrice {
    /// Input tokens, cached ones included.
    pub above: u64,
    pub input: f64,
    pub output: f64,
    #[serde(default)]
    pub cache_read: Option<f64>,
    #[serde(default)]
    pub cache_write: Option<f64>,
}

impl Price {
    /// The price of a server that sends no bill.
    pub const NOTHING: Self = Self {
        input: 0.0,
        output: 0.0,
        cache_read: None,
        cache_write: None,
        long: None,
    };

    /// Returns the cost of `usage` in US dollars.
    pub fn of(&self, usage: Usage) -> f64 {
        let long = self.long.filter(|long| usage.input_total() > long.above);
        let (input, output, read, write) = match long {
            Some(long) => (long.input, long.output, long.cache_read, long.cache_write),
            None => (self.input, self.output, self.cache_read, self.cache_write),
        };
        let sum = usage.input as f64 * input
            + usage.output as f64 * output
            + usage.cache_read as f64 * read.unwrap_or(input)
            + usage.cache_write as f64 * write.unwrap_or(input);
        sum / PRICED_TOKENS
    }

    /// Returns the highest cost of a request with so many tokens: nothing read from the cache, all of it written.
    pub fn at_worst(&self, input: u64, output: u64) -> f64 {
        let plain = self.of(Usage {
            input,
            output,
            ..Usage::default()
        });
        let written = self.of(Usage {
            cache_write: input,
            output,
            ..Usage::default()
        });
        plain.max(written)
    }
}

/// The facts about all models. Clones share newly learned facts.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    overrides: BTreeMap<String, ModelOverride>,
    /// Facts learned from refusals.
    learned: Arc<RwLock<Learned>>,
    /// Facts that servers report about their models.
    told: Arc<RwLock<HashMap<Target, Abilities>>>,
    /// The windows that servers report for loaded models, after an answer.
    loaded: Arc<RwLock<HashMap<Target, u64>>>,
    /// Providers that send no bill: servers of this network without a key.
    free: Arc<RwLock<BTreeSet<String>>>,
}

impl Catalog {
    /// Creates the catalog from the built-in table, changed by `models` of `config.json`: by model id, or
    /// `provider/model`.
    pub fn new(overrides: BTreeMap<String, ModelOverride>) -> Self {
        Self {
            overrides,
            ..Self::default()
        }
    }

    /// Returns the date of the built-in table, `YYYY-MM-DD`.
    pub fn date() -> &'static str {
        &TABLE.date
    }

    /// Returns the shortcut commands.
    pub fn shortcuts() -> &'static [Shortcut] {
        &TABLE.shortcuts
    }

    /// Returns the provider that makes the model `id`, among the makers in the table.
    pub fn maker_of(id: &str) -> Option<&'static str> {
        ["anthropic", "openai", "gemini"]
            .into_iter()
            .find(|provider| entry(provider, id).is_some())
    }

    /// Stores the facts that servers report about their models, replacing earlier ones.
    pub fn tell(&self, told: impl Iterator<Item = (Target, Abilities)>) {
        *self.told.write() = told.collect();
        self.loaded.write().clear();
    }

    /// Stores the providers that send no bill: if no price is set for one of their models, it is 0.
    pub fn tell_free(&self, providers: BTreeSet<String>) {
        *self.free.write() = providers;
    }

    /// Stores the window that the server of `target` reports for the loaded model. True if that was not known.
    pub fn tell_loaded(&self, target: &Target, window: u64) -> bool {
        if self.loaded.read().get(target) == Some(&window) {
            return false;
        }
        let was = self.facts(target).window;
        self.loaded.write().insert(target.clone(), window);
        self.facts(target).window != was
    }

    fn loaded_window(&self, target: &Target) -> Option<u64> {
        let loaded = self.loaded.read();
        loaded.get(target).copied()
    }

    fn told(&self, target: &Target) -> Abilities {
        let told = self.told.read();
        told.get(target).copied().unwrap_or_default()
    }

    /// Returns the facts about `target`.
    pub fn facts(&self, target: &Target) -> ModelFacts {
        let learned = self.learned.read().of(target);
        let own = entry(&target.provider, &target.model);
        let priced = own.and_then(|entry| entry.price);
        let entry = own.or_else(|| of_its_maker(&target.model));
        let changed = self.changed(target);
        let told = self.told(target);
        let window = changed
            .and_then(|model| model.window)
            .or_else(|| self.loaded_window(target))
            .or(told.window)
            .or_else(|| entry?.window);
        let window = window.unwrap_or(UNKNOWN_WINDOW).max(1);
        let window = learned
            .window
            .and_then(LearnedWindow::believed)
            .map_or(window, |learned| learned.min(window));
        let max_output = changed
            .and_then(|model| model.max_output)
            .map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX))
            .or(told.max_output)
            .or_else(|| entry?.max_output)
            .unwrap_or(UNKNOWN_MAX_OUTPUT);
        let max_output = learned.max_output.unwrap_or(u32::MAX).min(max_output);
        let half = u32::try_from(window / 2).unwrap_or(u32::MAX);
        ModelFacts {
            window,
            max_output: max_output.min(half).max(1),
            price: changed
                .map_or(priced, |model| changed_price(model, priced))
                .or_else(|| self.is_free(target).then_some(Price::NOTHING)),
            images: !learned.no_images
                && changed
                    .and_then(|model| model.images)
                    .or(told.images)
                    .or_else(|| entry?.images)
                    .unwrap_or(false),
            tools: !learned.no_tools
                && changed
                    .and_then(|model| model.tools)
                    .or(told.tools)
                    .or_else(|| entry?.tools)
                    .unwrap_or(true),
            thinking: entry.is_some_and(|entry| entry.thinking),
            effort: changed.and_then(|model| model.thinking),
            web_search: entry.is_some_and(|entry| entry.web_search),
            responses: entry.is_some_and(|entry| entry.responses),
            quirks: learned.quirks,
            pictures: learned.pictures,
            picture_bytes: learned.picture_bytes,
            known: entry.is_some() || changed.is_some() || told.window.is_some(),
        }
    }

    /// Returns the cost of `usage` of `target`; unknown if the price is.
    pub fn cost(&self, target: &Target, usage: Usage) -> Cost {
        match self.facts(target).price {
            Some(price) => Cost::Usd(price.of(usage)),
            None => Cost::Unknown,
        }
    }

    /// Returns the cost of a request to `target` without a token count: zero if no token costs anything.
    pub fn cost_without_count(&self, target: &Target) -> Cost {
        match self.facts(target).price {
            Some(Price::NOTHING) => Cost::Usd(0.0),
            Some(_) | None => Cost::Unknown,
        }
    }

    fn is_free(&self, target: &Target) -> bool {
        self.free.read().contains(&target.provider)
    }

    fn changed(&self, target: &Target) -> Option<&ModelOverride> {
        if self.overrides.is_empty() {
            return None;
        }
        let qualified = self.overrides.get(&target.to_string());
        qualified.or_else(|| self.overrides.get(&target.model))
    }
}

/// Returns the prices after an override. A price with one half missing is unknown.
fn changed_price(model: &ModelOverride, built_in: Option<Price>) -> Option<Price> {
    let given = [
        model.input_price,
        model.output_price,
        model.cache_read_price,
        model.cache_write_price,
    ];
    if given.iter().all(Option::is_none) {
        return built_in;
    }
    Some(Price {
        input: model
            .input_price
            .map(|usd| usd.get())
            .or_else(|| Some(built_in?.input))?,
        output: model
            .output_price
            .map(|usd| usd.get())
            .or_else(|| Some(built_in?.output))?,
        cache_read: model
            .cache_read_price
            .map(|usd| usd.get())
            .or_else(|| built_in?.cache_read),
        cache_write: model
            .cache_write_price
            .map(|usd| usd.get())
            .or_else(|| built_in?.cache_write),
        long: None,
    })
}

/// Returns the row of `id`, or of the model for which `id` is a dated name or an alias.
fn entry(provider: &str, id: &str) -> Option<&'static Entry> {
    undated(id, |id| BY_ID.get(&(provider, id)).copied())
}

/// Returns the row of a model that another provider serves under its maker's name: `anthropic/claude-…`, `gpt-4o`, ….
fn of_its_maker(id: &str) -> Option<&'static Entry> {
    let name = id.rsplit('/').next().unwrap_or(id);
    undated(name, |name| BY_NAME.get(name).copied())
}

/// Returns the `row` for `id`, or for `id` without a date or an alias at its end.
fn undated(id: &str, row: impl Fn(&str) -> Option<&'static Entry>) -> Option<&'static Entry> {
    row(id)
        .or_else(|| row(without_date(id)?))
        .or_else(|| row(id.strip_suffix("-latest")?))
}

/// Returns `id` without a date at its end: `-20251001`, `-2025-08-07`, `@20251001`.
pub(in crate::llm) fn without_date(id: &str) -> Option<&str> {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let at = id
        .len()
        .checked_sub(9)
        .filter(|at| id.is_char_boundary(*at));
    let compact = at
        .map(|at| id.split_at(at))
        .filter(|(_, date)| date.starts_with(['-', '@']) && digits(&date[1..]));
    if let Some((base, _)) = compact {
        return Some(base);
    }
    let at = id
        .len()
        .checked_sub(11)
        .filter(|at| id.is_char_boundary(*at))?;
    let (base, date) = id.split_at(at);
    let fields: Vec<&str> = date.strip_prefix('-')?.split('-').collect();
    match fields.as_slice() {
        [year, month, day] if year.len() == 4 && month.len() == 2 && day.len() == 2 => {
            (digits(year) && digits(month) && digits(day)).then_some(base)
        }
        _ => None,
    }
}

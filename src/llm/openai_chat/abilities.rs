//! Abilities that a server of Chat Completions reports about its models: in its list, and in further requests.
//!
//! The format has no place for windows and tools, so each server reports them elsewhere. llama.cpp (`/props`), Ollama
//! (`/api/show`, `/api/ps`) and LM Studio (`/api/v0/models`) are asked; vLLM, OpenRouter, Groq and Mistral have it in
//! the list itself. Ollama and LM Studio choose a window when they load a model, so they are asked for it again after
//! an answer. A failure here only leaves a fact unknown.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::llm::http::Endpoint;
use crate::llm::listing::{Abilities, Listing, names_other_use};

/// Longest time for one of the further requests: the answer is not essential.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Most models about which Ollama is asked, one request each.
const MAX_SHOWN: usize = 100;

/// How many of these requests run at once.
const AT_ONCE: usize = 8;

/// Returns the models `ids` of the list `page`, with everything that their server reports about them. Models that do
/// not chat are left out.
pub(super) async fn listing(endpoint: &Endpoint, page: &Value, ids: Vec<String>) -> Listing {
    let entries = page
        .get("data")
        .unwrap_or(page)
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let mut told: BTreeMap<String, Abilities> = entries
        .iter()
        .filter_map(|entry| Some((entry.get("id")?.as_str()?.to_owned(), in_list(entry))))
        .collect();
    let own = by_ways_of_its_own(endpoint, entries, &ids).await;
    for (model, further) in own {
        let known = told.entry(model).or_default();
        *known = further.or(*known);
    }
    told.retain(|_, abilities| *abilities != Abilities::default());
    let chats = |id: &String| {
        let said = told.get(id).and_then(|told| told.chats);
        said.unwrap_or_else(|| !names_other_use(id))
    };
    Listing {
        models: ids.into_iter().filter(chats).collect(),
        abilities: told,
    }
}

/// Reads the abilities from the entry of a model in the list.
fn in_list(entry: &Value) -> Abilities {
    let number = |paths: &[&str]| paths.iter().find_map(|path| entry.pointer(path)?.as_u64());
    let lists = |path: &str, word: &str| {
        let list = entry.pointer(path)?.as_array()?;
        Some(list.iter().any(|one| one.as_str() == Some(word)))
    };
    let flag = |path: &str| entry.pointer(path)?.as_bool();
    Abilities {
        window: number(&[
            "/meta/n_ctx",
            "/max_model_len",
            "/loaded_context_length",
            "/context_window",
            "/context_length",
            "/max_context_length",
        ])
        .filter(|tokens| *tokens > 0),
        max_output: number(&[
            "/max_completion_tokens",
            "/top_provider/max_completion_tokens",
        ])
        .and_then(|tokens| u32::try_from(tokens).ok())
        .filter(|tokens| *tokens > 0),
        tools: lists("/supported_parameters", "tools")
            .or_else(|| flag("/capabilities/function_calling")),
        images: lists("/architecture/input_modalities", "image")
            .or_else(|| flag("/capabilities/vision")),
        chats: flag("/capabilities/completion_chat"),
    }
}

/// The kind of the server, by its list.
enum Kind {
    LlamaCpp,
    /// A list in the form of Ollama, LM Studio and others.
    Local,
    /// All its information is in its list.
    Other,
}

async fn by_ways_of_its_own(
    endpoint: &Endpoint,
    entries: &[Value],
    ids: &[String],
) -> BTreeMap<String, Abilities> {
    match kind(endpoint, entries) {
        Kind::LlamaCpp => llama_cpp(endpoint, ids).await,
        Kind::Local => match lm_studio(endpoint).await {
            Some(told) => told,
            None => ollama(endpoint, ids).await,
        },
        Kind::Other => BTreeMap::new(),
    }
}

fn kind(endpoint: &Endpoint, entries: &[Value]) -> Kind {
    let owner = |name: &str| {
        let owners = entries.iter().filter_map(|entry| entry.get("owned_by"));
        owners
            .filter_map(Value::as_str)
            .any(|owner| owner.eq_ignore_ascii_case(name))
    };
    if owner("llamacpp") {
        return Kind::LlamaCpp;
    }
    let tells = entries.iter().any(|entry| in_list(entry).window.is_some());
    let is_near = !endpoint.base_url.starts_with("https:");
    if !tells && (owner("library") || owner("organization_owner") || is_near) {
        return Kind::Local;
    }
    Kind::Other
}

/// Asks llama.cpp's server how it runs its one model.
async fn llama_cpp(endpoint: &Endpoint, ids: &[String]) -> BTreeMap<String, Abilities> {
    let [only] = ids else {
        return BTreeMap::new();
    };
    let Some(props) = get(endpoint, "/props").await else {
        return BTreeMap::new();
    };
    let window = props.pointer("/default_generation_settings/n_ctx");
    let told = Abilities {
        window: window.and_then(Value::as_u64).filter(|tokens| *tokens > 0),
        images: props.pointer("/modalities/vision").and_then(Value::as_bool),
        ..Abilities::default()
    };
    BTreeMap::from([(only.clone(), told)])
}

/// A server that reports its loaded models and their windows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Loader {
    Ollama,
    LmStudio,
}

/// Returns which of these the server is, if any.
pub(super) async fn loader(endpoint: &Endpoint) -> Option<Loader> {
    if ollama_running(endpoint).await.is_some() {
        return Some(Loader::Ollama);
    }
    lm_studio_list(endpoint).await.map(|_| Loader::LmStudio)
}

/// Returns the window of the loaded `model`.
pub(super) async fn loaded_window(endpoint: &Endpoint, loader: Loader, model: &str) -> Option<u64> {
    match loader {
        Loader::Ollama => loaded(&ollama_running(endpoint).await?, model),
        Loader::LmStudio => {
            let entries = lm_studio_list(endpoint).await?;
            let mut entries = entries.iter();
            let entry = entries.find(|entry| entry["id"] == model)?;
            entry.get("loaded_context_length")?.as_u64()
        }
    }
    .filter(|tokens| *tokens > 0)
}

/// Returns the models that Ollama has loaded; `None` if this is another server.
async fn ollama_running(endpoint: &Endpoint) -> Option<Vec<Value>> {
    list(get(endpoint, "/api/ps").await?, "models")
}

/// Returns LM Studio's own list; `None` if this is another server.
async fn lm_studio_list(endpoint: &Endpoint) -> Option<Vec<Value>> {
    list(get(endpoint, "/api/v0/models").await?, "data")
}

fn list(mut page: Value, key: &str) -> Option<Vec<Value>> {
    match page.get_mut(key)?.take() {
        Value::Array(entries) => Some(entries),
        _ => None,
    }
}

async fn lm_studio(endpoint: &Endpoint) -> Option<BTreeMap<String, Abilities>> {
    let entries = lm_studio_list(endpoint).await?;
    let told = entries.iter().filter_map(|entry| {
        let id = entry.get("id")?.as_str()?;
        let kind = entry.get("type").and_then(Value::as_str);
        let number = |key: &str| entry.get(key).and_then(Value::as_u64);
        let can = entry.get("capabilities").and_then(Value::as_array);
        let told = Abilities {
            window: number("loaded_context_length").or_else(|| number("max_context_length")),
            tools: can.map(|can| can.iter().any(|one| one == "tool_use")),
            images: kind.map(|kind| kind == "vlm"),
            chats: kind.map(|kind| kind != "embeddings"),
            max_output: None,
        };
        // Models without a template for tools run with LM Studio's own template.
        let told = Abilities {
            tools: told.tools.filter(|can| *can),
            ..told
        };
        Some((id.to_owned(), told))
    });
    Some(told.collect())
}

/// Asks Ollama, which reports about one model at a time. The window is the one with which it loads a model, from its
/// list of running models.
async fn ollama(endpoint: &Endpoint, ids: &[String]) -> BTreeMap<String, Abilities> {
    let Some(first) = ids.first() else {
        return BTreeMap::new();
    };
    let Some(shown) = show(endpoint, first).await else {
        return BTreeMap::new();
    };
    let running = ollama_running(endpoint).await.unwrap_or_default();
    let others: Vec<String> = ids.iter().skip(1).take(MAX_SHOWN).cloned().collect();
    let asked = futures_util::stream::iter(others).map(|id| async move {
        let shown = show(endpoint, &id).await?;
        Some((id, shown))
    });
    let others: Vec<Option<(String, Value)>> = asked.buffer_unordered(AT_ONCE).collect().await;
    let all = std::iter::once((first.clone(), shown)).chain(others.into_iter().flatten());
    all.map(|(id, shown)| {
        let told = in_show(&shown, loaded(&running, &id));
        (id, told)
    })
    .collect()
}

async fn show(endpoint: &Endpoint, model: &str) -> Option<Value> {
    let headers = endpoint.key_header("authorization", "Bearer ").ok()?;
    let body = json!({"model": model});
    let asked = endpoint.post_at_root("/api/show", headers, &body);
    let shown = timeout(TIMEOUT, asked).await.ok()?.ok()?;
    shown.get("model_info").is_some().then_some(shown)
}

/// Returns the window of a running model.
fn loaded(running: &[Value], id: &str) -> Option<u64> {
    let named = |model: &&Value| {
        let names = ["name", "model"].map(|key| model.get(key).and_then(Value::as_str));
        names.contains(&Some(id))
    };
    running.iter().find(named)?.get("context_length")?.as_u64()
}

fn in_show(shown: &Value, loaded: Option<u64>) -> Abilities {
    let trained = || {
        let info = shown.get("model_info")?.as_object()?;
        let length = info
            .iter()
            .find(|(key, _)| key.ends_with(".context_length"))?;
        length.1.as_u64()
    };
    let can = shown.get("capabilities").and_then(Value::as_array);
    let has = |word: &str| can.map(|can| can.iter().any(|one| one == word));
    Abilities {
        window: loaded.or_else(|| num_ctx(shown)).or_else(trained),
        max_output: None,
        tools: has("tools"),
        images: has("vision"),
        chats: has("completion"),
    }
}

/// Returns the window that the model's file sets: a line `num_ctx 8192` among its parameters.
fn num_ctx(shown: &Value) -> Option<u64> {
    let parameters = shown.get("parameters")?.as_str()?;
    let mut lines = parameters.lines().map(str::split_whitespace);
    lines.find_map(|mut line| match (line.next(), line.next()) {
        (Some("num_ctx"), Some(tokens)) => tokens.parse().ok(),
        _ => None,
    })
}

async fn get(endpoint: &Endpoint, path: &str) -> Option<Value> {
    let headers = endpoint.key_header("authorization", "Bearer ").ok()?;
    let asked = endpoint.get_at_root(path, headers);
    timeout(TIMEOUT, asked).await.ok()?.ok()
}

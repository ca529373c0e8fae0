//! The model that answers, for the banner of the page. The program that runs the bot supplies it.

use std::fmt;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::people::Refusal;

/// Knows the current model, and can choose another one.
pub trait ModelDesk: fmt::Debug + Send + Sync {
    /// Returns the current models.
    fn state(&self) -> BoxFuture<'_, ModelState>;

    /// Returns the model servers that answer on this machine now.
    fn servers(&self) -> BoxFuture<'_, Vec<ModelServer>>;

    /// Selects this model from now on. Returns a sentence that says so, or the reason why not.
    fn choose(&self, choice: ModelChoice) -> BoxFuture<'_, Result<String, Refusal>>;
}

/// The current model, and the others that are available.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ModelState {
    /// The demo model answers: no other is configured.
    pub demo: bool,
    /// A vendor of models, used with a key.
    pub vendors: Vec<Vendor>,
}

/// A server of models on this machine.
#[derive(Clone, Debug, Serialize)]
pub struct ModelServer {
    pub name: String,
    /// The name that people read.
    pub label: String,
    pub models: Vec<String>,
}

/// A vendor of models, used with a key.
#[derive(Clone, Debug, Serialize)]
pub struct Vendor {
    pub name: String,
    /// The name that people read.
    pub label: String,
}

/// The model to select.
#[derive(Deserialize)]
#[serde(tag = "use", rename_all = "snake_case")]
pub enum ModelChoice {
    /// A vendor's model, by the vendor's name, with this key.
    Key { vendor: String, key: String },
    /// The models of a server that was found, by its name.
    Server { name: String },
}

/// Without the key.
impl fmt::Debug for ModelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key { vendor, .. } => write!(f, "a key of {vendor}"),
            Self::Server { name } => write!(f, "the server {name}"),
        }
    }
}

type Desk = Option<Arc<dyn ModelDesk>>;

pub(super) async fn state(State(desk): State<Desk>) -> Json<Value> {
    let state = match desk {
        Some(desk) => desk.state().await,
        None => ModelState::default(),
    };
    Json(json!(state))
}

pub(super) async fn servers(State(desk): State<Desk>) -> Json<Value> {
    let servers = match desk {
        Some(desk) => desk.servers().await,
        None => Vec::new(),
    };
    Json(json!(servers))
}

pub(super) async fn choose(State(desk): State<Desk>, Json(choice): Json<ModelChoice>) -> Response {
    let Some(desk) = desk else {
        return StatusCode::NOT_FOUND.into_response();
    };
    match desk.choose(choice).await {
        Ok(words) => Json(json!({"said": words})).into_response(),
        Err(error) => (
            StatusCode::BAD_REQUEST,
            Json(json!({"error": error.to_string()})),
        )
            .into_response(),
    }
}

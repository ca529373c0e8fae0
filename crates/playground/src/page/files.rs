//! The page's own files, compiled into the program.

use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

/// Path, type and content of each.
const FILES: [(&str, &str, &str); 14] = [
    ("/", "text/html; charset=utf-8", include_str!("index.html")),
    (
        "/style.css",
        "text/css; charset=utf-8",
        include_str!("style.css"),
    ),
    ("/app.js", SCRIPT, include_str!("app.js")),
    ("/api.js", SCRIPT, include_str!("api.js")),
    ("/colours.js", SCRIPT, include_str!("colours.js")),
    ("/composer.js", SCRIPT, include_str!("composer.js")),
    ("/dialogs.js", SCRIPT, include_str!("dialogs.js")),
    ("/dom.js", SCRIPT, include_str!("dom.js")),
    ("/highlight.js", SCRIPT, include_str!("highlight.js")),
    ("/markdown.js", SCRIPT, include_str!("markdown.js")),
    ("/rules.js", SCRIPT, include_str!("rules.js")),
    ("/models.js", SCRIPT, include_str!("models.js")),
    ("/options.js", SCRIPT, include_str!("options.js")),
    ("/messages.js", SCRIPT, include_str!("messages.js")),
];

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Serves the file at the path of `uri`.
pub(super) async fn file(uri: Uri) -> Response {
    let found = FILES.iter().find(|(path, _, _)| *path == uri.path());
    match found {
        Some((_, kind, content)) => (
            [
                (header::CONTENT_TYPE, *kind),
                (header::CACHE_CONTROL, "no-cache"),
            ],
            *content,
        )
            .into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

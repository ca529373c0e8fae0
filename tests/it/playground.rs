//! The playground: the local Discord, held against a real serenity client; the demo model; the page in a real browser.

mod demo_model;
mod listener;
mod markdown;
mod page;
mod rest;
mod serenity;
mod stream;
mod terminal;
mod walk;

/// Posts `body` and gives the answer.
async fn posted(url: String, body: &serde_json::Value) -> reqwest::Response {
    let post = reqwest::Client::new().post(url).json(body);
    post.send().await.unwrap()
}

//! Opens a merge request by the API of a forge.

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use super::http;
use super::remote::Remote;
use crate::config::{ForgeKind, Secret};
use crate::domain::json_values;
use crate::text;
use crate::tools::error::ToolError;
use crate::tools::git_access::{ForgeAccess, GitAccess};

/// A merge request to open.
#[derive(Clone, Debug)]
pub(in crate::tools) struct MergeRequest {
    pub(in crate::tools) title: String,
    /// Its description, Markdown.
    pub(in crate::tools) description: String,
    /// The branch with the work.
    pub(in crate::tools) source: String,
    /// The branch to merge into.
    pub(in crate::tools) target: String,
}

/// Opens `request` on the forge of `remote`; returns its address.
pub(in crate::tools) async fn open_merge_request(
    client: &reqwest::Client,
    access: &GitAccess,
    remote: &Remote,
    request: &MergeRequest,
) -> Result<String, ToolError> {
    let forge = access.forges.get(&remote.host).ok_or_else(|| {
        ToolError::Rejected(format!(
            "the operator has set no forge for `{}` (`forges` in config.json)",
            remote.host
        ))
    })?;
    let host = access.hosts.get(&remote.host);
    let token = forge
        .token
        .as_ref()
        .or_else(|| host.and_then(|host| host.token.as_ref()))
        .ok_or_else(|| {
            ToolError::Rejected(format!(
                "the operator has set no token for `{}`",
                remote.host
            ))
        })?;
    let call = match forge.kind {
        ForgeKind::Github => github(client, forge, token, remote, request),
        ForgeKind::Gitlab => gitlab(client, forge, token, remote, request),
    };
    let refused =
        |why: String| ToolError::Rejected(format!("merge request on `{}`: {why}", remote.host));
    let answer = call
        .header("user-agent", "chorus")
        .send()
        .await
        .map_err(|error| refused(text::with_causes(&error.without_url())))?;
    let status = answer.status();
    let body = http::body(answer).await.unwrap_or_default();
    let body: Value = if json_values::are_few(&body) {
        serde_json::from_slice(&body).unwrap_or_default()
    } else {
        Value::Null
    };
    if !status.is_success() {
        let reason = text::one_line(&text::visible(&reason(&body)).0, 300);
        return Err(refused(format!("{} {reason}", status.as_u16())));
    }
    ["html_url", "web_url"]
        .iter()
        .find_map(|key| body[key].as_str())
        .map(str::to_owned)
        .ok_or_else(|| refused("it was taken, but its address is not told".into()))
}

fn github(
    client: &reqwest::Client,
    forge: &ForgeAccess,
    token: &Secret,
    remote: &Remote,
    request: &MergeRequest,
) -> RequestBuilder {
    client
        .post(format!(
            "{}/repos/{}/pulls",
            forge.base_url,
            remote.project()
        ))
        .bearer_auth(token.expose())
        .header("accept", "application/vnd.github+json")
        .header("x-github-api-version", "2022-11-28")
        .json(&json!({
            "title": request.title,
            "body": request.description,
            "head": request.source,
            "base": request.target,
        }))
}

fn gitlab(
    client: &reqwest::Client,
    forge: &ForgeAccess,
    token: &Secret,
    remote: &Remote,
    request: &MergeRequest,
) -> RequestBuilder {
    let project = remote.project().replace('/', "%2F");
    client
        .post(format!(
            "{}/projects/{project}/merge_requests",
            forge.base_url
        ))
        .header("private-token", token.expose())
        .json(&json!({
            "title": request.title,
            "description": request.description,
            "source_branch": request.source,
            "target_branch": request.target,
        }))
}

/// Returns the forge's own words for a refusal.
fn reason(body: &Value) -> String {
    let details: Vec<String> = body["errors"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|error| error["message"].as_str().map(str::to_owned))
        .collect();
    let message = match &body["message"] {
        Value::String(message) => message.clone(),
        Value::Array(all) => all
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join("; "),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    if details.is_empty() {
        message
    } else {
        format!("{message}: {}", details.join("; "))
    }
}

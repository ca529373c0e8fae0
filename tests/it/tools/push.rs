//! Pushes and merge requests, to servers on this machine that check what they are sent.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use chorus::config::{ForgeKind, Secret};
use chorus::tools::{ForgeAccess, GitAccess, HostAccess, guard};
use git2::{Oid, Repository};
use insta::{assert_json_snapshot, assert_snapshot};
use serde_json::{Value, json};

use super::lab::Lab;

/// A git server for one repository, and the API of two forges.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) repository: PathBuf,
    pub(crate) asked: Arc<Mutex<Vec<Value>>>,
}

/// `Authorization` of user `bot` with token `t0ken-t0ken`.
const BASIC: &str = "Basic Ym90OnQwa2VuLXQwa2Vu";

impl Server {
    fn open(&self) -> Repository {
        Repository::open_bare(&self.repository).unwrap()
    }

    pub(crate) async fn start(self) -> SocketAddr {
        let routes = Router::new()
            .route("/ada/lab.git/info/refs", get(advertise))
            .route("/ada/lab.git/git-receive-pack", post(receive))
            .route(
                "/moved.git/info/refs",
                get(|| async { (StatusCode::FOUND, [("location", "http://evil.example/")]) }),
            )
            .route("/api/repos/ada/lab/pulls", post(github))
            .route("/api/projects/ada%2Flab/merge_requests", post(gitlab))
            .with_state(self);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, routes).await });
        address
    }
}

fn packet(text: &str) -> String {
    format!("{:04x}{text}", text.len() + 4)
}

async fn advertise(State(server): State<Server>, headers: HeaderMap) -> Response {
    if headers
        .get("authorization")
        .is_none_or(|given| given != BASIC)
    {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let git = server.open();
    let mut refs: Vec<String> = git
        .references()
        .unwrap()
        .map(|found| found.unwrap())
        .map(|found| format!("{} {}", found.target().unwrap(), found.name().unwrap()))
        .collect();
    if refs.is_empty() {
        refs.push(format!("{} capabilities^{{}}", "0".repeat(40)));
    }
    refs[0].push_str("\0report-status delete-refs object-format=sha1");
    let lines: String = refs
        .iter()
        .map(|line| packet(&format!("{line}\n")))
        .collect();
    let body = format!("{}0000{lines}0000", packet("# service=git-receive-pack\n"));
    (
        [(
            "content-type",
            "application/x-git-receive-pack-advertisement",
        )],
        body,
    )
        .into_response()
}

async fn receive(State(server): State<Server>, headers: HeaderMap, body: Bytes) -> Response {
    assert_eq!(headers["authorization"], BASIC);
    let length = usize::from_str_radix(std::str::from_utf8(&body[..4]).unwrap(), 16).unwrap();
    let command = std::str::from_utf8(&body[4..length]).unwrap();
    let (line, wanted) = command.split_once('\0').unwrap();
    assert_eq!(wanted, "report-status");
    assert_eq!(&body[length..length + 4], b"0000");
    let words: Vec<&str> = line.split(' ').collect();
    let git = server.open();
    let odb = git.odb().unwrap();
    let mut writer = odb.packwriter().unwrap();
    writer.write_all(&body[length + 4..]).unwrap();
    writer.commit().unwrap();
    let new: Oid = words[1].parse().unwrap();
    git.reference(words[2], new, true, "push").unwrap();
    let report = format!(
        "{}{}0000",
        packet("unpack ok\n"),
        packet(&format!("ok {}\n", words[2]))
    );
    (
        [("content-type", "application/x-git-receive-pack-result")],
        report,
    )
        .into_response()
}

async fn github(
    State(server): State<Server>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    let seen = json!({
        "authorization": headers["authorization"].to_str().unwrap(),
        "accept": headers["accept"].to_str().unwrap(),
        "body": body,
    });
    server.asked.lock().unwrap().push(seen);
    (
        StatusCode::CREATED,
        Json(json!({"html_url": "https://forge.example/ada/lab/pull/7"})),
    )
        .into_response()
}

async fn gitlab(
    State(server): State<Server>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    let seen = json!({"private-token": headers["private-token"].to_str().unwrap(), "body": body});
    server.asked.lock().unwrap().push(seen);
    if server.asked.lock().unwrap().len() > 1 {
        return (
            StatusCode::CONFLICT,
            Json(json!({"message": ["another one is open"]})),
        )
            .into_response();
    }
    Json(json!({"web_url": "https://forge.example/ada/lab/-/merge_requests/7"})).into_response()
}

/// A lab with one commit, whose `origin` is a server the operator opened.
async fn lab_and_server(forge: ForgeKind) -> (Lab, Server, SocketAddr) {
    let mut lab = Lab::new();
    let repository = lab.home.path().join("server.git");
    Repository::init_bare(&repository).unwrap();
    let server = Server {
        repository,
        asked: Arc::default(),
    };
    let address = server.clone().start().await;
    let token = || Some(Secret::new("t0ken-t0ken"));
    let host = HostAccess {
        username: "bot".into(),
        token: token(),
    };
    let forge = ForgeAccess {
        kind: forge,
        base_url: format!("http://{address}/api"),
        token: None,
    };
    let services = Arc::get_mut(&mut lab.context.services).unwrap();
    services.git = GitAccess {
        hosts: BTreeMap::from([(address.to_string(), host)]),
        forges: BTreeMap::from([(address.to_string(), forge)]),
        ..GitAccess::default()
    };
    lab.does("git_init", json!({})).await;
    lab.write("a.txt", "one\n");
    lab.does("git_commit", json!({"message": "Begin"})).await;
    set_origin(&lab, &format!("http://{address}/ada/lab.git"));
    (lab, server, address)
}

fn set_origin(lab: &Lab, url: &str) {
    let git = Repository::open(lab.files()).unwrap();
    if git.remote_set_url("origin", url).is_err() || git.find_remote("origin").is_err() {
        git.remote("origin", url).unwrap();
    }
}

pub(crate) fn tip(path: &Path, name: &str) -> Oid {
    let git = Repository::open(path).unwrap();
    git.find_reference(name)
        .unwrap()
        .peel_to_commit()
        .unwrap()
        .id()
}

#[tokio::test]
async fn a_branch_is_pushed_forward_with_the_operator_s_token() {
    let (lab, server, address) = lab_and_server(ForgeKind::Github).await;
    let push = || json!({"remote": "origin", "branch": "main"});
    let hash = regex::Regex::new("[0-9a-f]{40}|[0-9a-f]{10}").unwrap();
    let pushes = async || {
        let told = lab.call("git_push", push()).await.content;
        hash.replace_all(&told, "HASH")
            .replace(&address.to_string(), "HOST")
    };
    assert_snapshot!(pushes().await, @"Pushed `main` to `origin` (HOST): HASH (new branch).");
    assert_snapshot!(pushes().await, @"`origin` has all of `main` already.");
    lab.write("b.txt", "two\n");
    lab.does("git_commit", json!({"message": "More"})).await;
    assert_snapshot!(pushes().await, @"Pushed `main` to `origin` (HOST): HASH (from HASH).");
    let pushed = tip(&server.repository, "refs/heads/main");
    assert_eq!(pushed, tip(&lab.files(), "refs/heads/main"));
    let git = server.open();
    let tree = git.find_commit(pushed).unwrap().tree().unwrap();
    assert!(tree.get_name("b.txt").is_some());

    // Somebody else's commit over there: nothing is overwritten.
    let author = git2::Signature::now("Eve", "eve@example.org").unwrap();
    let old = git.find_commit(pushed).unwrap();
    let theirs = git
        .commit(
            Some("refs/heads/main"),
            &author,
            &author,
            "Theirs",
            &old.tree().unwrap(),
            &[&old],
        )
        .unwrap();
    lab.write("c.txt", "three\n");
    lab.does("git_commit", json!({"message": "Mine"})).await;
    assert_snapshot!(pushes().await, @"the server's `main` (HASH) is not part of yours; fetch and merge it in the shell first");
    assert_eq!(tip(&server.repository, "refs/heads/main"), theirs);
}

#[tokio::test]
async fn a_remote_that_leads_elsewhere_since_it_was_judged_is_not_pushed_to() {
    let (lab, server, address) = lab_and_server(ForgeKind::Github).await;
    let push = json!({"remote": "origin", "branch": "main"});
    let merge = json!({"title": "T", "description": "D", "source": "main", "target": "main"});
    for (tool, arguments) in [("git_push", push), ("git_merge_request", merge)] {
        set_origin(&lab, &format!("http://{address}/ada/lab.git"));
        let judged = lab.prepared(tool, arguments);
        let shown = judged.address.clone();
        assert_eq!(shown, Some(format!("http://{address}/ada/lab.git")));
        set_origin(&lab, &format!("http://{address}/eve/lab.git"));
        let told = guard::run(judged, &lab.context).await.result.content;
        assert_eq!(
            told.replace(&address.to_string(), "HOST"),
            "the remote `origin` now leads to `http://HOST/eve/lab.git`, which is not what was judged; try again"
        );
    }
    assert!(server.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_token_goes_to_the_opened_host_and_nowhere_else() {
    let (lab, _, address) = lab_and_server(ForgeKind::Github).await;
    let pushes = async |url: &str| {
        set_origin(&lab, url);
        let told = lab
            .refuses("git_push", json!({"remote": "origin", "branch": "main"}))
            .await;
        told.replace(&address.to_string(), "HOST")
    };
    assert_snapshot!(pushes(&format!("http://{address}/moved.git")).await, @"push to `HOST`: the server redirects (302), and credentials are not sent elsewhere; set the remote to the new URL");
    assert_snapshot!(pushes(&format!("http://{address}/none.git")).await, @"push to `HOST`: the server has no such repository, or hides it from the token");
    assert_snapshot!(pushes("https://evil.example/ada/lab.git").await, @"the operator has not opened `evil.example` for pushes (`git.hosts` in config.json)");
    for url in [
        "http://evil.example/x".to_owned(),
        "/srv/git/x".into(),
        "file:///srv/git/x".into(),
        "ext::sh -c id".into(),
        format!("https://bot:pw@{address}/x"),
        format!("http://{address}@evil.example/x"),
        "git://evil.example/x".into(),
        "-oProxyCommand=id:x".into(),
        "ssh://-oProxyCommand=id/x".into(),
        "git@host:x'y".into(),
        "git@host:../../x".into(),
        format!("https://{address}/x?y=z"),
    ] {
        let told = pushes(&url).await;
        let is_refused = told.contains("is not pushed to")
            || told.contains("has not opened")
            || told.contains("is not used as it is");
        assert!(is_refused, "{url}: {told}");
    }
}

#[tokio::test]
async fn a_branch_is_pushed_by_the_system_s_ssh() {
    let mut lab = Lab::new();
    let repository = lab.home.path().join("srv/lab.git");
    fs::create_dir_all(repository.parent().unwrap()).unwrap();
    Repository::init_bare(&repository).unwrap();
    // Stands for ssh: writes down how it was called, and does here what the other machine would do.
    let ssh = lab.home.path().join("ssh");
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > {0}/called\nenv > {0}/env\ncd {0}/srv\nfor last; do :; done\nexec sh -c \"$last\"\n",
        lab.home.path().display()
    );
    fs::write(&ssh, script).unwrap();
    fs::set_permissions(&ssh, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let host = HostAccess {
        username: "git".into(),
        token: None,
    };
    let services = Arc::get_mut(&mut lab.context.services).unwrap();
    services.git = GitAccess {
        hosts: BTreeMap::from([("forge.example".into(), host)]),
        ssh,
        ..GitAccess::default()
    };
    lab.does("git_init", json!({})).await;
    lab.does("git_commit", json!({"message": "Begin"})).await;
    set_origin(&lab, "git@forge.example:lab.git");
    lab.does("git_push", json!({"remote": "origin", "branch": "main"}))
        .await;
    assert_eq!(
        tip(&repository, "refs/heads/main"),
        tip(&lab.files(), "refs/heads/main")
    );
    assert_snapshot!(fs::read_to_string(lab.home.path().join("called")).unwrap(), @"
    -o
    BatchMode=yes
    -o
    StrictHostKeyChecking=yes
    -o
    ForwardAgent=no
    -o
    ClearAllForwardings=yes
    --
    git@forge.example
    git-receive-pack 'lab.git'
    ");
    let told = lab
        .does("git_push", json!({"remote": "origin", "branch": "main"}))
        .await;
    assert_snapshot!(told, @"`origin` has all of `main` already.");
}

#[tokio::test]
async fn merge_requests_are_opened_as_each_forge_wants_them() {
    let arguments = || json!({"title": "Add a", "description": "It *adds* a.", "source": "work", "target": "main"});
    let (lab, server, _) = lab_and_server(ForgeKind::Github).await;
    assert_snapshot!(lab.does("git_merge_request", arguments()).await, @"Opened https://forge.example/ada/lab/pull/7");
    assert_json_snapshot!(server.asked.lock().unwrap()[0], @r#"
    {
      "authorization": "Bearer t0ken-t0ken",
      "accept": "application/vnd.github+json",
      "body": {
        "title": "Add a",
        "body": "It *adds* a.",
        "head": "work",
        "base": "main"
      }
    }
    "#);

    let (lab, server, address) = lab_and_server(ForgeKind::Gitlab).await;
    assert_snapshot!(lab.does("git_merge_request", arguments()).await, @"Opened https://forge.example/ada/lab/-/merge_requests/7");
    assert_json_snapshot!(server.asked.lock().unwrap()[0], @r#"
    {
      "private-token": "t0ken-t0ken",
      "body": {
        "title": "Add a",
        "description": "It *adds* a.",
        "source_branch": "work",
        "target_branch": "main"
      }
    }
    "#);
    let told = lab.refuses("git_merge_request", arguments()).await;
    assert_snapshot!(told.replace(&address.to_string(), "HOST"), @"merge request on `HOST`: 409 another one is open");
    set_origin(&lab, "https://github.com/ada/lab.git");
    assert_snapshot!(lab.refuses("git_merge_request", arguments()).await, @"the operator has set no forge for `github.com` (`forges` in config.json)");
}

//! The listeners that the daemon talks to: no web page gets a word out of them, whatever it calls itself.

use std::net::SocketAddr;

use chorus_playground::model::DemoModel;
use chorus_playground::{Discord, Options, Playground};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The status of the answer to a request as it goes over the wire.
async fn status(address: SocketAddr, request: &str) -> u16 {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = request.replace('\n', "\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = vec![0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()[9..].parse().unwrap()
}

fn address(base: &str) -> SocketAddr {
    base.strip_prefix("http://").unwrap().parse().unwrap()
}

/// Requests of the first three lines' `paths`, with these headers, and what each is answered.
async fn statuses(at: SocketAddr, paths: &[&str], headers: &str) -> Vec<u16> {
    let mut all = Vec::new();
    for path in paths {
        let headers = headers.replace("PORT", &at.port().to_string());
        let request = format!("GET {path} HTTP/1.1\n{headers}Connection: close\n\n");
        all.push(status(at, &request).await);
    }
    all
}

const UPGRADE: &str = "Connection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n";

/// Headers of what is not meant for the listener, or comes from a page.
const FOREIGN: [&str; 16] = [
    "Host: evil.example\n",
    "Host: evil.example:PORT\n",
    "Host: 127.0.0.1\n",
    "Host: 127.0.0.1:1\n",
    "Host: 127.0.0.1:PORT.evil.example\n",
    "Host: 127.0.0.1.evil.example:PORT\n",
    "Host: localhost.evil.example:PORT\n",
    "Host: evil@127.0.0.1:PORT\n",
    "Host: [::1]:PORT\n",
    "Host: 0.0.0.0:PORT\n",
    "Host: 2130706433:PORT\n",
    "Host: 127.0.0.1:PORT\nHost: evil.example\n",
    "Host: 127.0.0.1:PORT\nOrigin: http://evil.example\n",
    "Host: 127.0.0.1:PORT\nOrigin: null\n",
    "Host: localhost:PORT\nOrigin: http://localhost:8300\n",
    "Host: 127.0.0.1:PORT\nSec-Fetch-Site: cross-site\n",
];

/// Every method that a browser sends, with or without asking first whether it may.
const METHODS: [&str; 8] = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE",
];

/// What each method of a request with these headers is answered, where a page may be behind it.
async fn by_method(at: SocketAddr, path: &str, headers: &str) -> Vec<u16> {
    let mut all = Vec::new();
    let headers = headers.replace("PORT", &at.port().to_string());
    for method in METHODS {
        let asks = "Access-Control-Request-Method: PUT\nContent-Length: 0\n";
        let request = format!("{method} {path} HTTP/1.1\n{headers}{asks}Connection: close\n\n");
        all.push(status(at, &request).await);
    }
    all
}

/// Whether the page takes these: the end of a tunnel has a port of its own.
fn is_tunnel(headers: &str) -> bool {
    headers.ends_with(":1\n") || headers.contains("[::1]")
}

#[tokio::test]
async fn no_method_gets_a_page_further_than_another() {
    let discord = Discord::start(Options::default()).await.unwrap();
    let model = DemoModel::start().await.unwrap();
    let page = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let playground = Playground::start(Options::default(), page).await.unwrap();
    let (of_page, _) = FOREIGN.split_at(FOREIGN.len() - 1);
    for (base, paths, foreign) in [
        (
            discord.base_url().to_owned(),
            [
                "/api/v10/channels/1/messages",
                "/gateway-socket",
                "/no/such/path",
            ],
            FOREIGN.as_slice(),
        ),
        (
            model.base_url().to_owned(),
            ["/v1/messages", "/v1/models", "/no/such/path"],
            FOREIGN.as_slice(),
        ),
        (
            playground.url(),
            ["/", "/api/state", "/no/such/path"],
            of_page,
        ),
    ] {
        let at = address(&base);
        let is_page = base == playground.url();
        for headers in foreign
            .iter()
            .filter(|headers| !is_page || !is_tunnel(headers))
        {
            for path in paths {
                let all = by_method(at, path, headers).await;
                assert_eq!(all, [403; METHODS.len()], "{base}{path} {headers}");
            }
        }
    }
}

#[tokio::test]
async fn a_web_page_gets_nothing_out_of_the_local_discord() {
    let discord = Discord::start(Options::default()).await.unwrap();
    let at = address(discord.base_url());
    let paths = [
        "/api/v10/gateway",
        "/attachments/1/x.png",
        "/api/v10/users/@me",
    ];

    for headers in FOREIGN {
        assert_eq!(statuses(at, &paths, headers).await, [403; 3], "{headers}");
        let upgrade = format!("{headers}{UPGRADE}");
        let socket = statuses(at, &["/gateway-socket"], &upgrade).await;
        assert_eq!(socket, [403], "{headers}");
    }
    let absolute = ["http://evil.example/api/v10/gateway"];
    assert_eq!(
        statuses(at, &absolute, "Host: 127.0.0.1:PORT\n").await,
        [403]
    );
    // Without a `Host` at all.
    let bare = "GET /api/v10/gateway HTTP/1.0\n\n";
    assert_eq!(status(at, bare).await, 403);

    for own in [
        "Host: 127.0.0.1:PORT\n",
        "Host: localhost:PORT\n",
        "Host: localhost:PORT\nSec-Fetch-Site: none\n",
    ] {
        assert_eq!(statuses(at, &paths, own).await, [200, 404, 401], "{own}");
    }
    let socket = format!("Host: 127.0.0.1:PORT\n{UPGRADE}");
    assert_eq!(statuses(at, &["/gateway-socket"], &socket).await, [101]);
}

#[tokio::test]
async fn the_token_is_another_one_at_each_start() {
    let mut tokens = Vec::new();
    for _ in 0..3 {
        let discord = Discord::start(Options::default()).await.unwrap();
        let at = address(discord.base_url());
        let asks = |token: &str| format!("Host: 127.0.0.1:PORT\nAuthorization: Bot {token}\n");
        let me = ["/api/v10/users/@me"];
        assert_eq!(statuses(at, &me, &asks(discord.token())).await, [200]);
        for guess in ["playground-token", tokens.last().map_or("", String::as_str)] {
            assert_eq!(statuses(at, &me, &asks(guess)).await, [401], "{guess}");
        }
        tokens.push(discord.token().to_owned());
    }
}

#[tokio::test]
async fn a_web_page_gets_nothing_out_of_the_demo_model() {
    let model = DemoModel::start().await.unwrap();
    let at = address(model.base_url());

    for headers in FOREIGN {
        assert_eq!(
            statuses(at, &["/v1/models"], headers).await,
            [403],
            "{headers}"
        );
    }
    assert_eq!(
        statuses(at, &["/v1/models"], "Host: 127.0.0.1:PORT\n").await,
        [200]
    );
}

#[tokio::test]
async fn the_page_is_there_for_its_own_origin_alone() {
    let page = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let playground = Playground::start(Options::default(), page).await.unwrap();
    let at = address(&playground.url());
    let state = ["/api/state"];

    // A page of our own may say that it is one.
    let (of_page, others) = FOREIGN.split_at(FOREIGN.len() - 1);
    let further = [
        "Host: localhost:9000\nOrigin: http://localhost:8300\n",
        "Host: localhost:9000\nOrigin: http://127.0.0.1:9000\n",
        "Host: evil.example:9000\nOrigin: http://evil.example:9000\n",
        "Host: 127.0.0.1.evil.example:9000\n",
        "Host: localhost:0\n",
        "Host: localhost:+80\n",
    ];
    let refused = of_page.iter().filter(|headers| !is_tunnel(headers));
    for headers in refused.chain(&further) {
        assert_eq!(statuses(at, &state, headers).await, [403], "{headers}");
    }
    assert_eq!(others.len(), 1);
    for own in [
        "Host: 127.0.0.1:PORT\nOrigin: http://127.0.0.1:PORT\n",
        "Host: localhost:PORT\nOrigin: http://localhost:PORT\n",
        "Host: 127.0.0.1:9000\nOrigin: http://127.0.0.1:9000\n",
        "Host: localhost:9000\n",
    ] {
        assert_eq!(statuses(at, &state, own).await, [200], "{own}");
    }
}

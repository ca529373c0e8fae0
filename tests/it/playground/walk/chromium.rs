//! Drives a headless Chromium by its DevTools protocol: JSON over one WebSocket.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use base64::Engine;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::not_run::{Missing, not_run};

/// Longest wait before a step says what it waited for in vain.
const PATIENCE: Duration = Duration::from_secs(120);

/// Without a profile of anybody, without a network of its own.
const FLAGS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
];

/// One page in a browser of its own.
pub(super) struct Browser {
    _child: Child,
    _profile: TempDir,
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    session: String,
    last_id: u64,
    hand: Hand,
}

/// What points at the page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hand {
    Mouse,
    Finger,
}

/// The size of a screen.
#[derive(Clone, Copy)]
pub(super) enum Screen {
    Desktop,
    Phone,
}

/// Light or dark, as the system would prefer.
#[derive(Clone, Copy)]
pub(super) enum Light {
    Bright,
    Dark,
}

impl Browser {
    /// Starts one; none when there is no Chromium here.
    pub(super) async fn start() -> Option<Self> {
        let Some(program) = find() else {
            not_run(&Missing::Program("Chromium", "chromium"));
            return None;
        };
        let profile = TempDir::new().unwrap();
        let mut child = Command::new(program)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = tokio::time::timeout(PATIENCE, async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if let Some((_, address)) = line.split_once("DevTools listening on ") {
                    return address.to_owned();
                }
            }
            panic!("Chromium ended before it listened");
        });
        let address = address.await.expect("Chromium does not listen");
        // Its further complaints are read, so that the pipe never fills.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let (socket, _) = connect_async(address).await.unwrap();
        let mut browser = Self {
            _child: child,
            _profile: profile,
            socket,
            session: String::new(),
            last_id: 0,
            hand: Hand::Mouse,
        };
        let target = browser
            .call("Target.createTarget", json!({"url": "about:blank"}))
            .await;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", attach).await;
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        browser.call("Page.enable", json!({})).await;
        Some(browser)
    }

    /// Opens an address and waits until the page has drawn itself.
    pub(super) async fn opens(&mut self, url: &str) {
        self.call("Page.navigate", json!({"url": url})).await;
        self.sees("document.readyState === 'complete' && document.querySelector('.channel')")
            .await;
    }

    /// Opens a page of ours that needs nobody.
    pub(super) async fn reads_file(&mut self, path: &Path) {
        let url = format!("file://{}", path.display());
        self.call("Page.navigate", json!({"url": url})).await;
        self.sees("document.readyState === 'complete' && document.querySelector('h1')")
            .await;
    }

    pub(super) async fn screen(&mut self, screen: Screen, light: Light) {
        let (width, height, scale, mobile) = match screen {
            Screen::Desktop => (1280, 800, 1.5, false),
            Screen::Phone => (390, 844, 2.0, true),
        };
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": scale, "mobile": mobile});
        self.call("Emulation.setDeviceMetricsOverride", metrics)
            .await;
        let value = match light {
            Light::Bright => "light",
            Light::Dark => "dark",
        };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": value}]});
        self.call("Emulation.setEmulatedMedia", features).await;
    }

    /// Points with this from now on; the page is told that there is a touch screen, or none.
    pub(super) async fn points_with(&mut self, hand: Hand) {
        self.hand = hand;
        let touch = json!({"enabled": hand == Hand::Finger, "maxTouchPoints": 1});
        self.call("Emulation.setTouchEmulationEnabled", touch).await;
    }

    /// Waits until a JavaScript expression is truthy; it is looked at again after each change of the document and each picture.
    pub(super) async fn sees(&mut self, expression: &str) -> Value {
        let script = format!(
            "new Promise((resolve) => {{
                const look = () => {{
                    let found;
                    try {{ found = ({expression}); }} catch {{ found = null; }}
                    if (!found) return false;
                    watch.disconnect();
                    resolve(found instanceof Node ? true : found);
                    return true;
                }};
                const watch = new MutationObserver(look);
                const all = {{ subtree: true, childList: true, attributes: true, characterData: true }};
                if (look()) return;
                watch.observe(document, all);
                // What changes nothing in the document: that it is complete, and that a picture has come, which its window does not hear.
                window.addEventListener('load', look);
                document.addEventListener('load', look, true);
            }})"
        );
        match tokio::time::timeout(PATIENCE, self.evaluates(&script)).await {
            Ok(found) => found,
            Err(_) => panic!("the page never showed: {expression}"),
        }
    }

    /// Waits until this text is on the page.
    pub(super) async fn reads(&mut self, text: &str) {
        self.sees(&format!(
            "document.body.innerText.includes({})",
            json!(text)
        ))
        .await;
    }

    /// Clicks the newest visible element for a CSS selector that holds this text, or taps it.
    pub(super) async fn clicks(&mut self, selector: &str, text: &str) {
        let place = self.presses_on(selector, text).await;
        self.releases(place).await;
    }

    /// Holds the mouse down, or a finger, on that element, and gives the place.
    pub(super) async fn presses_on(&mut self, selector: &str, text: &str) -> Value {
        let find = format!(
            "(() => {{ const all = [...document.querySelectorAll({selector})].reverse().filter((one) => \
             !one.disabled && one.offsetParent && (one.innerText || one.ariaLabel || '').includes({text})); \
             return all.find((one) => one.innerText === {text}) ?? all[0]; }})()",
            selector = json!(selector),
            text = json!(text)
        );
        self.sees(&find).await;
        let place = self
            .evaluates(&format!(
                "(() => {{ const one = {find}; one.scrollIntoView({{block: 'nearest'}});
                 const box = one.getBoundingClientRect();
                 return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
            ))
            .await;
        match self.hand {
            Hand::Finger => self.touch("touchStart", Some(&place)).await,
            Hand::Mouse => {
                for kind in ["mouseMoved", "mousePressed"] {
                    self.mouse(kind, &place).await;
                }
            }
        }
        place
    }

    /// Lets the mouse go, or lifts the finger.
    pub(super) async fn releases(&mut self, place: Value) {
        match self.hand {
            Hand::Finger => self.touch("touchEnd", None).await,
            Hand::Mouse => self.mouse("mouseReleased", &place).await,
        }
    }

    /// Puts a finger on that element, moves it up by so many pixels, and lifts it.
    pub(super) async fn drags_up(&mut self, selector: &str, text: &str, pixels: u32) {
        let mut place = self.presses_on(selector, text).await;
        for _ in 0..pixels.div_ceil(10) {
            place[1] = json!(place[1].as_f64().unwrap() - 10.0);
            self.touch("touchMove", Some(&place)).await;
        }
        self.releases(place).await;
    }

    async fn touch(&mut self, kind: &str, place: Option<&Value>) {
        let points: Vec<Value> = place
            .iter()
            .map(|place| json!({"x": place[0], "y": place[1]}))
            .collect();
        let event = json!({"type": kind, "touchPoints": points});
        self.call("Input.dispatchTouchEvent", event).await;
    }

    async fn mouse(&mut self, kind: &str, place: &Value) {
        let event = json!({
            "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1,
        });
        self.call("Input.dispatchMouseEvent", event).await;
    }

    /// Types into whatever has the focus, key by key: what a page does to keys is met as a person meets it.
    pub(super) async fn types(&mut self, text: &str) {
        for character in text.chars() {
            let typed = character.to_string();
            self.presses(json!({"key": typed, "text": typed})).await;
        }
    }

    pub(super) async fn presses_enter(&mut self) {
        let enter =
            json!({"key": "Enter", "code": "Enter", "text": "\r", "windowsVirtualKeyCode": 13});
        self.presses(enter).await;
    }

    /// Presses a named key, such as `ArrowUp`, with modifiers as the protocol counts them: Alt 1, Control 2, Shift 8.
    pub(super) async fn presses_key(&mut self, key: &str, modifiers: u8) {
        let code = match key {
            "ArrowUp" => 38,
            "ArrowDown" => 40,
            "Escape" => 27,
            "Tab" => 9,
            _ => u32::from(key.as_bytes()[0].to_ascii_uppercase()),
        };
        let key = json!({"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers});
        self.presses(key).await;
    }

    async fn presses(&mut self, key: Value) {
        for kind in ["keyDown", "keyUp"] {
            let mut event = key.clone();
            event["type"] = kind.into();
            self.call("Input.dispatchKeyEvent", event).await;
        }
    }

    /// Writes a picture of what is seen.
    pub(super) async fn photographs(&mut self, path: &Path) {
        let picture = self
            .call("Page.captureScreenshot", json!({"format": "png"}))
            .await;
        let bytes = base64::prelude::BASE64_STANDARD.decode(picture["data"].as_str().unwrap());
        std::fs::write(path, bytes.unwrap()).unwrap();
    }

    /// What a screen reader is told, as Chromium works it out: `role: name` of each element, with `expanded` behind one that is.
    pub(super) async fn hears(&mut self) -> Vec<String> {
        let tree = self.call("Accessibility.getFullAXTree", json!({})).await;
        let nodes = tree["nodes"].as_array().unwrap().iter();
        let heard = nodes.filter(|node| node["ignored"] != true).map(|node| {
            let text = |key: &str| node[key]["value"].as_str().unwrap_or_default().to_owned();
            let mut properties = node["properties"].as_array().into_iter().flatten();
            let is_open =
                properties.any(|one| one["name"] == "expanded" && one["value"]["value"] == true);
            let expanded = if is_open { " (expanded)" } else { "" };
            format!("{}: {}{expanded}", text("role"), text("name"))
        });
        heard.collect()
    }

    pub(super) async fn evaluates(&mut self, script: &str) -> Value {
        let ask = json!({"expression": script, "awaitPromise": true, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", ask).await;
        assert!(answer["exceptionDetails"].is_null(), "{script}: {answer}");
        answer["result"]["value"].clone()
    }

    async fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.socket
            .send(Message::text(message.to_string()))
            .await
            .unwrap();
        loop {
            let received = self.socket.next().await.expect("Chromium is gone").unwrap();
            let Message::Text(text) = received else {
                continue;
            };
            let answer: Value = serde_json::from_str(text.as_str()).unwrap();
            if answer["id"] == self.last_id {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }
}

fn find() -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .flat_map(|folder| {
            ["chromium", "chromium-browser", "google-chrome"].map(|name| folder.join(name))
        })
        .find(|program| program.is_file())
}

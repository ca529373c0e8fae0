//! A newcomer's first minutes, by clicks in a real browser: the program itself, its page, its demo model.

mod chromium;

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use chromium::{Browser, Light, Screen};

/// `chorus playground` as a newcomer starts it.
struct Program {
    _child: Child,
    home: TempDir,
    url: String,
}

impl Program {
    async fn start() -> Self {
        Self::start_in(TempDir::new().unwrap()).await
    }

    async fn start_in(home: TempDir) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_chorus"))
            .args(["playground", "--port", "0", "--home"])
            .arg(home.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.path())
            .current_dir(home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines
            .next_line()
            .await
            .unwrap()
            .expect("the program said nothing");
        let url = first
            .strip_prefix("Chorus playground: ")
            .expect(&first)
            .to_owned();
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self {
            _child: child,
            home,
            url,
        }
    }

    fn workspace(&self, agent: &str) -> PathBuf {
        self.home
            .path()
            .join("agents")
            .join(agent)
            .join("workspace")
    }
}

/// Where pictures go: into the documentation when asked, else beside the build.
fn picture(name: &str) -> PathBuf {
    let folder = match std::env::var_os("CHORUS_WRITE_SCREENSHOTS") {
        Some(_) => Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/images"),
        None => Path::new(env!("CARGO_TARGET_TMPDIR")).to_owned(),
    };
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

/// Makes the agent `helper` by its slash command and goes to its channel.
async fn makes_agent(browser: &mut Browser) {
    browser.clicks("#composer-text", "").await;
    browser.types("/agent init").await;
    browser.clicks("[role=option]", "/agent init").await;
    browser.types("helper").await;
    browser.clicks(".composer .press", "Run").await;
    browser.clicks(".channel", "helper").await;
    browser.sees("document.querySelector('#title').innerText.includes('helper') && document.querySelector('.message')").await;
}

/// Has a command asked about, and ends the question with a button, or by waiting.
async fn asks_and_ends(browser: &mut Browser, button: Option<&str>, ending: &str, file: &str) {
    browser.clicks("#composer-text", "").await;
    browser.types(&format!("run echo {file} > {file}")).await;
    browser.presses_enter().await;
    if let Some(button) = button {
        browser.clicks(".press", button).await;
    }
    browser.reads(ending).await;
    browser
        .sees("![...document.querySelectorAll('.press')].some((one) => ['Allow', 'Stop'].includes(one.innerText) && !one.disabled)")
        .await;
    browser
        .evaluates("document.querySelector('#messages').scrollTop = 1e9")
        .await;
}

#[tokio::test]
async fn an_approval_shows_each_of_its_four_endings() {
    let Some(mut browser) = Browser::start().await else {
        return;
    };
    let program = Program::start().await;
    browser.screen(Screen::Desktop, Light::Dark).await;
    browser.opens(&program.url).await;
    makes_agent(&mut browser).await;
    let endings = [
        ("Allow", "Allowed"),
        ("Deny", "Denied"),
        ("Always allow", "Always allowed"),
    ];
    for (button, ending) in endings {
        let name = ending.to_lowercase().replace(' ', "-");
        asks_and_ends(&mut browser, Some(button), ending, &name).await;
        browser
            .photographs(&picture(&format!("approval-{name}.png")))
            .await;
    }
    drop(program);

    // The fourth: nobody decides.
    let home = TempDir::new().unwrap();
    let config = r#"{"default_model": "demo", "approval_timeout": 1}"#;
    std::fs::write(home.path().join("config.json"), config).unwrap();
    let program = Program::start_in(home).await;
    browser.opens(&program.url).await;
    makes_agent(&mut browser).await;
    asks_and_ends(&mut browser, None, "Expired", "expired").await;
    browser.photographs(&picture("approval-expired.png")).await;
}

/// Photographs the agent while it works: the live status with its buttons, and the question that it waits for.
async fn shows_its_work(browser: &mut Browser) {
    let shown = "['Stop', 'Abort', 'Allow', 'Deny'].every((label) => [...document.querySelectorAll('.press')].some((one) => one.innerText === label && !one.disabled))";
    browser.sees(shown).await;
    for (screen, name) in [
        (Screen::Phone, "playground-working-phone.png"),
        (Screen::Desktop, "playground-working.png"),
    ] {
        browser.screen(screen, Light::Dark).await;
        browser
            .evaluates("document.querySelector('#messages').scrollTop = 1e9")
            .await;
        browser.photographs(&picture(name)).await;
    }
}

#[tokio::test]
async fn an_agent_is_made_talked_to_and_allowed_a_command() {
    let Some(mut browser) = Browser::start().await else {
        return;
    };
    let program = Program::start().await;
    browser.screen(Screen::Desktop, Light::Dark).await;
    browser.opens(&program.url).await;
    browser.reads("Chorus is here").await;

    makes_agent(&mut browser).await;

    // It is told to do something, and does it.
    browser.clicks("#composer-text", "").await;
    browser
        .types("create a file hello.txt with Hello from the playground")
        .await;
    browser.presses_enter().await;
    browser.reads("Done.").await;
    let hello = std::fs::read_to_string(program.workspace("helper").join("hello.txt")).unwrap();
    assert_eq!(hello, "Hello from the playground\n");

    // A command is asked about first.
    browser.types("run ls -l && wc -c hello.txt").await;
    browser.presses_enter().await;
    shows_its_work(&mut browser).await;
    browser.clicks(".press", "Allow").await;
    browser.reads("26 hello.txt").await;
    browser.sees("![...document.querySelectorAll('.press')].some((one) => one.innerText === 'Allow' && !one.disabled)").await;

    browser
        .photographs(&picture("playground-desktop.png"))
        .await;
    browser.screen(Screen::Phone, Light::Bright).await;
    // Whoever was reading the newest still does when there is less room.
    let at_the_end = "(() => { const list = document.querySelector('#messages');
        return list.scrollHeight - list.scrollTop - list.clientHeight < 2; })()";
    browser.sees(at_the_end).await;
    browser.photographs(&picture("playground-phone.png")).await;
}

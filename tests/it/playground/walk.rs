//! A newcomer's first minutes, by clicks in a real browser: the program itself, its page, its demo model.

mod chromium;
mod day;
mod first;
mod hands;
mod page;
mod roles;
mod run_page;
mod states;

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
        let mut child = Command::new(crate::world::daemon::program())
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
    browser.clicks(".press", "Open #helper").await;
    browser.sees("document.querySelector('#title').innerText.includes('helper') && document.querySelector('.message')").await;
}

/// A browser on a playground of its own; none where there is no browser.
async fn at_the_desk() -> Option<(Browser, Program)> {
    let mut browser = Browser::start().await?;
    let program = Program::start().await;
    browser.screen(Screen::Desktop, Light::Dark).await;
    browser.opens(&program.url).await;
    Some((browser, program))
}

/// Has a command asked about, and ends the question with a button, or by waiting.
async fn asks_and_ends(browser: &mut Browser, button: Option<&str>, ending: &str, file: &str) {
    browser.clicks("#composer-text", "").await;
    browser.types(&format!("run echo {file} > {file}")).await;
    browser.presses_enter().await;
    if let Some(button) = button {
        browser.clicks(".press", button).await;
        if button == "Always allow" {
            browser.clicks(".press", "Confirm").await;
        }
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
    let Some((mut browser, program)) = at_the_desk().await else {
        return;
    };
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
    let config = r#"{"default_model": "demo", "approval_timeout": 30}"#;
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
    let Some((mut browser, program)) = at_the_desk().await else {
        return;
    };
    browser.reads("Chorus is online").await;

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

/// Makes the channel `#other`; what is in `#general` stays open. From here on the page has `acts`, `me` and `other`.
async fn has_another_channel(browser: &mut Browser) {
    browser.reads("Chorus is online").await;
    browser
        .evaluates(
            "window.real = fetch;
             window.acts = async (deed) => (await real('/api/act', {
                 method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(deed),
             })).json();
             (async () => {
                 const all = await (await real('/api/state')).json();
                 window.me = all.users.find((one) => !one.bot).id;
                 const made = await acts({ as: me, do: 'add_channel', server: all.servers[0].id, name: 'other' });
                 window.other = made.channel;
             })()",
        )
        .await;
    browser
        .sees("[...document.querySelectorAll('.channel')].some((one) => one.innerText.includes('other'))")
        .await;
}

/// What is said in a channel that is being opened may reach the page before the list of what was said there, which does
/// not know of it.
#[tokio::test]
async fn a_message_that_overtakes_the_list_stays() {
    let Some((mut browser, _program)) = at_the_desk().await else {
        return;
    };
    has_another_channel(&mut browser).await;
    browser
        .evaluates(
            "window.fetch = async (...asked) => {
                 const answer = await real(...asked);
                 if (!String(asked[0]).includes('/messages')) return answer;
                 const list = await answer.json();
                 await new Promise((go) => { window.arrives = go; document.body.dataset.waits = 'yes'; });
                 return { json: async () => list };
             }",
        )
        .await;
    browser.clicks(".channel", "other").await;
    browser.sees("document.body.dataset.waits").await;
    browser
        .evaluates("acts({ as: me, do: 'say', channel: other, content: 'I was quicker' })")
        .await;
    browser.reads("I was quicker").await;
    // All that follows the list's arrival is done before the next timer.
    let kept = browser
        .evaluates(
            "(async () => {
                 arrives();
                 await new Promise((done) => setTimeout(done));
                 return document.body.innerText.includes('I was quicker');
             })()",
        )
        .await;
    assert_eq!(kept, true);
}

/// News that come while somebody presses a button do not take it away from under the finger.
#[tokio::test]
async fn a_press_is_a_click_whatever_happens_meanwhile() {
    let Some((mut browser, _program)) = at_the_desk().await else {
        return;
    };
    has_another_channel(&mut browser).await;
    browser
        .evaluates(
            "const parse = JSON.parse;
             JSON.parse = (text, ...more) => {
                 if (String(text).includes('while you press')) document.body.dataset.heard = 'yes';
                 return parse(text, ...more);
             }",
        )
        .await;
    let place = browser.presses_on(".channel", "other").await;
    browser
        .evaluates("acts({ as: me, do: 'say', channel: other, content: 'said while you press' })")
        .await;
    browser.sees("document.body.dataset.heard").await;
    browser.releases(place).await;
    browser
        .sees("document.querySelector('#title').innerText.includes('other')")
        .await;
    browser.reads("said while you press").await;
}

/// A choice by key is no press that holds news back.
#[tokio::test]
async fn a_choice_by_key_lets_news_through() {
    let Some((mut browser, _program)) = at_the_desk().await else {
        return;
    };
    makes_agent(&mut browser).await;
    has_another_channel(&mut browser).await;
    browser.clicks(".channel", "other").await;
    browser.clicks("#composer-text", "").await;
    browser.types("/agent config").await;
    browser.clicks("[role=option]", "/agent config").await;
    browser
        .sees("document.querySelector('#option-name-choices:not([hidden]) li')")
        .await;
    browser.presses_key("ArrowDown", 0).await;
    browser.presses_enter().await;
    browser
        .sees("document.querySelector('#option-name').value === 'helper'")
        .await;
    browser
        .evaluates("acts({ as: me, do: 'say', channel: other, content: 'and what is new' })")
        .await;
    browser.reads("and what is new").await;
}

//! Agents made after a role, a template, another agent or an attached file; and what a mistake in one leaves: nothing.

use std::fs;
use std::os::unix::fs::symlink;

use chorus_playground::{OptionValue, Rights};
use serde_json::{Value, json};

use super::writes;
use crate::world::{Actor, World, run_test};

const REVIEWER: &str = "---\nname: reviewer\ndescription: Reviews changes.\ntools: [view, grep]\n---\nYou review changes.\n";

/// Four mistakes: a model nobody has, a tool, a key and a profile that are none.
const WRONG: &str = "---\nname: wrong\ndescription: Is wrong.\nmodel: no-such-model\ntools: [view, baash]\nmax_step: 3\npermissions: wide-open\n---\nWrong.\n";

/// Writes a file of the home.
fn places(world: &World, path: &str, text: &str) {
    let path = world.home().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn file_of(world: &World, agent: &str, path: &str) -> Option<String> {
    fs::read_to_string(world.home().join("agents").join(agent).join(path)).ok()
}

/// Makes an agent, and gives the answer once its welcome stands in its channel.
async fn made(world: &World, name: &str, from: &str) -> String {
    let command = format!("/agent init name:{name} from:{from}");
    let told = world.ann.asks(&command, "#general").await;
    assert!(told.contains("is ready"), "{told}");
    world.sees(&format!("#{name}"), "Write here to begin").await;
    told
}

async fn asks_with_file(world: &World, name: &str, file: &str, text: &str) -> String {
    let options = [
        ("name", name.into()),
        ("file", OptionValue::File(file.to_owned(), text.into())),
    ];
    asks(world, "/agent init", &options).await
}

/// Runs a command with these options, and gives its answer.
async fn asks(world: &World, command: &str, options: &[(&str, OptionValue)]) -> String {
    let general = world.channel("#general");
    let run = world.ann.person.runs(general, command, options).unwrap();
    world
        .waits(&format!("an answer to {command}"), |world| {
            let message = world.discord.replies_to(run).into_iter().next()?;
            let shown = world.discord.shown(&message);
            (!shown.is_empty()).then_some(shown)
        })
        .await
}

/// What the model is told first in the agent's channel.
async fn told_first(world: &World, agent: &str) -> Value {
    let answer = format!("I am {agent}.");
    world.model.answers(&answer);
    let channel = format!("#{agent}");
    world.ann.says(&channel, "who are you?").await;
    world.sees(&channel, &answer).await;
    world.model.last_request()
}

/// Neither a folder, nor a row, nor a channel of that name.
async fn nothing_is_left(world: &World, name: &str) {
    let folders = fs::read_dir(world.home().join("agents")).unwrap();
    let mut names = folders.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.all(|one| !one.contains(name)), "{name}");
    let rows = world.ledger("SELECT name FROM agents").await;
    assert!(!rows.contains(&name.to_owned()), "{rows:?}");
    let channels = world.discord.channel_names(world.discord.guild());
    assert!(!channels.contains(&name.to_owned()), "{channels:?}");
}

#[tokio::test]
async fn a_role_of_the_home_and_a_built_in_one() {
    run_test(async |world| {
        places(world, "charters/reviewer.md", REVIEWER);
        made(world, "rev", "reviewer").await;
        assert_eq!(file_of(world, "rev", "charter.md").as_deref(), Some(REVIEWER));
        let file = world.agent_json("rev");
        assert_eq!(file["system_prompt"], "");
        assert_eq!(file["model"], Value::Null);
        assert_eq!(file["permissions"], "standard");
        let request = told_first(world, "rev").await;
        assert!(request["system"][0].to_string().contains("You review changes."));
        assert_eq!(request["tools"].as_array().unwrap().len(), 3, "{}", request["tools"]);
        let audit = "SELECT json_extract(detail, '$.edited') || ': ' || outcome FROM audit_log WHERE agent_name = 'rev' AND action_string = 'command:agent_init'";
        assert_eq!(world.ledger(audit).await, ["charter from the role `reviewer`: applied"]);

        made(world, "looker", "explore").await;
        let charter = file_of(world, "looker", "charter.md").unwrap();
        assert!(charter.contains("name: explore"), "{charter}");
    })
    .await;
}

#[tokio::test]
async fn a_template_outranks_a_role_and_brings_its_files() {
    run_test(async |world| {
        places(world, "charters/web.md", REVIEWER);
        let file = json!({
            "id": "5f0c9d2e-0000-4000-8000-000000000000", "name": "old", "channel_id": "77", "owner_id": "78",
            "system_prompt": "Build pages.", "permissions": "guarded", "idle_timeout": 300, "my_note": "kept",
            "running_tasks": [{"id": 1}],
        });
        places(world, "templates/web/agent.json", &file.to_string());
        places(world, "templates/web/charter.md", "---\nname: builder\ndescription: Builds.\nsub_agents: [critic]\n---\nYou build.\n");
        places(world, "templates/web/charters/critic.md", "---\nname: critic\ndescription: Judges.\n---\nJudge.\n");
        places(world, "templates/web/docs/style.md", "Use a grid.");
        places(world, "templates/web/workspace/src/index.html", "<p>");
        // `guarded` is a profile that ann may grant: she is an administrator.
        made(world, "site", "web").await;
        let written = world.agent_json("site");
        for (key, value) in [
            ("system_prompt", json!("Build pages.")),
            ("permissions", json!("guarded")),
            ("idle_timeout", json!(300)),
            ("my_note", json!("kept")),
            ("name", json!("site")),
            ("running_tasks", json!([])),
        ] {
            assert_eq!(written[key], value, "{key}");
        }
        assert_ne!(written["id"], file["id"]);
        assert_ne!(written["channel_id"], "77");
        assert_eq!(written["owner_id"].as_u64().map(|id| id.to_string()), Some(world.ann.id().to_string()));
        for path in ["charters/critic.md", "docs/style.md", "workspace/src/index.html", "workspace/.git/HEAD", "sessions"] {
            assert!(world.home().join("agents/site").join(path).exists(), "{path}");
        }
        assert!(file_of(world, "site", "docs/README.md").is_none());
        let request = told_first(world, "site").await;
        let system = request["system"].to_string();
        assert!(system.contains("You build.") && system.contains("Use a grid."), "{system}");
    })
    .await;
}

#[tokio::test]
async fn another_agent_without_what_is_its_own() {
    run_test(async |world| {
        writes(world, "charter.md", REVIEWER);
        writes(
            world,
            "charters/helper.md",
            "---\nname: helper\ndescription: Helps.\n---\nHelp.\n",
        );
        writes(world, "docs/known.md", "The sky is green.");
        writes(world, "workspace/secret.txt", "mine");
        world.edits_agent_json(
            "lab",
            json!({"always_allow": ["tool:bash:make"], "idle_timeout": 600}),
        );
        world.exchange("hello", "Hello.").await;
        world.ann.asks("/context save", "#lab").await;
        made(world, "twin", "@lab").await;
        let (lab, twin) = (world.agent_json("lab"), world.agent_json("twin"));
        assert_eq!(twin["idle_timeout"], 600);
        assert_eq!(twin["system_prompt"], lab["system_prompt"]);
        assert_eq!(twin["always_allow"], json!([]));
        for key in ["id", "channel_id", "created_at"] {
            assert_ne!(twin[key], lab[key], "{key}");
        }
        assert_eq!(
            file_of(world, "twin", "charter.md").as_deref(),
            Some(REVIEWER)
        );
        assert!(file_of(world, "twin", "charters/helper.md").is_some());
        assert!(file_of(world, "twin", "docs/known.md").is_some());
        assert!(file_of(world, "twin", "workspace/secret.txt").is_none());
        let sessions = fs::read_dir(world.home().join("agents/twin/sessions")).unwrap();
        assert_eq!(sessions.count(), 0);
    })
    .await;
}

#[tokio::test]
async fn an_attached_charter_and_an_attached_prompt() {
    run_test(async |world| {
        let told = asks_with_file(world, "rev", "Reviewer.md", REVIEWER).await;
        assert!(told.contains("is ready"), "{told}");
        assert_eq!(
            file_of(world, "rev", "charter.md").as_deref(),
            Some(REVIEWER)
        );
        let told = asks_with_file(world, "plain", "prompt.md", "# Be brief\n").await;
        assert!(told.contains("is ready"), "{told}");
        assert!(file_of(world, "plain", "charter.md").is_none());
        assert_eq!(world.agent_json("plain")["system_prompt"], "# Be brief\n");
        let told = asks_with_file(world, "wrong", "wrong.md", WRONG).await;
        assert!(told.contains("wrong.md, line 4"), "{told}");
        nothing_is_left(world, "wrong").await;
    })
    .await;
}

#[tokio::test]
async fn every_mistake_is_told_at_once_and_leaves_nothing() {
    run_test(async |world| {
        places(world, "charters/wrong.md", WRONG);
        let told = world
            .ann
            .asks("/agent init name:alpha from:wrong", "#general")
            .await;
        let told = told.replace('\\', "");
        for expected in [
            "wrong.md, line 4: model: there is no model `no-such-model`",
            "wrong.md, line 5: tools: there is no tool `baash`",
            "wrong.md, line 6: max_step",
            "wrong.md, line 7: permissions",
            "did you mean `bash`",
            "max_steps",
        ] {
            assert!(told.contains(expected), "{expected}\n{told}");
        }
        nothing_is_left(world, "alpha").await;

        places(world, "charters/reviewer.md", REVIEWER);
        places(world, "templates/torn/agent.json", "{\n  \"name\": oops\n}");
        places(world, "templates/linked/docs/a.md", "a");
        symlink(
            "/etc/hostname",
            world.home().join("templates/linked/docs/b.md"),
        )
        .unwrap();
        places(
            world,
            "templates/lost/charter.md",
            "---\nname: lost\ndescription: Lost.\nadvisors: [nobody]\n---\nLost.\n",
        );
        for (from, expected) in [
            ("reviwer", "Did you mean reviewer?"),
            ("@nobody", "There is no agent nobody"),
            ("torn", "agent.json, line 2"),
            ("linked", "neither a folder nor a file"),
            ("lost", "there is no role nobody"),
            ("../charters/reviewer", "There is no role or template"),
        ] {
            let command = format!("/agent init name:alpha from:{from}");
            let told = world
                .ann
                .asks(&command, "#general")
                .await
                .replace(['\\', '`'], "");
            assert!(told.contains(expected), "{from}: {told}");
            nothing_is_left(world, "alpha").await;
        }
    })
    .await;
}

#[tokio::test]
async fn who_may_not_grant_what_a_file_asks_for_makes_nothing() {
    run_test(async |world| {
        let wide = "---\nname: wide\ndescription: Does all.\npermissions: open\n---\nAll.\n";
        places(world, "charters/wide.md", wide);
        let file =
            json!({"name": "", "system_prompt": "", "permissions": "standard", "sandbox": "off"});
        places(world, "templates/unwalled/agent.json", &file.to_string());
        let alice = Actor::new(&world.discord, "alice");
        alice.person.gets_role("keepers", Rights::MANAGE_CHANNELS);
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        for (from, expected) in [
            ("wide", "The role wide asks for the profile open"),
            ("@lab", "The agent lab asks for the profile open"),
            ("unwalled", "The template unwalled set sandbox"),
        ] {
            let command = format!("/agent init name:alpha from:{from}");
            let told = alice
                .asks(&command, "#general")
                .await
                .replace(['\\', '`'], "");
            assert!(told.contains(expected), "{from}: {told}");
            nothing_is_left(world, "alpha").await;
        }
        // With a profile that needs no grant the role only narrows.
        let command = "/agent init name:alpha permission_profile:standard from:wide";
        let told = alice.asks(command, "#general").await;
        assert!(told.contains("is ready"), "{told}");
        assert_eq!(world.agent_json("alpha")["permissions"], "standard");
        made(world, "beta", "wide").await;
        assert_eq!(world.agent_json("beta")["permissions"], "open");
    })
    .await;
}

#[tokio::test]
async fn kept_files_are_not_mixed_with_another_origin() {
    run_test(async |world| {
        let run = world
            .ann
            .runs("/agent destroy name:lab keep_files:true", "#general")
            .await;
        world.ann.clicks("#general", "Confirm").await;
        world
            .waits("the end of lab", |world| {
                let message = world.discord.replies_to(run).into_iter().next()?;
                world
                    .discord
                    .shown(&message)
                    .contains("files are kept")
                    .then_some(())
            })
            .await;
        let told = world
            .ann
            .asks("/agent init name:lab from:explore", "#general")
            .await;
        assert!(told.contains("The files of an earlier agent"), "{told}");
        assert!(file_of(world, "lab", "charter.md").is_none());
    })
    .await;
}

#[tokio::test]
async fn the_charter_of_an_agent_is_shown_replaced_and_taken_away() {
    run_test(async |world| {
        places(world, "charters/reviewer.md", REVIEWER);
        let key = "/agent config name:lab key:charter";
        let none = world.ann.asks(key, "#lab").await;
        assert!(none.contains("works without a role"), "{none}");
        let set = world.ann.asks(&format!("{key} value:reviewer"), "#lab").await;
        assert!(set.contains("is now the role"), "{set}");
        let request = told_first(world, "lab").await;
        assert!(request["system"][0].to_string().contains("You review changes."));
        let shown = world.ann.asks(key, "#lab").await;
        assert!(shown.contains("You review changes."), "{shown}");

        // A mistake changes nothing, and the agent goes on in its role.
        let options = [
            ("name", "lab".into()),
            ("key", "charter".into()),
            ("file", OptionValue::File("wrong.md".to_owned(), WRONG.into())),
        ];
        let wrong = asks(world, "/agent config", &options).await;
        assert!(wrong.contains("line 4") && wrong.contains("line 7"), "{wrong}");
        assert_eq!(file_of(world, "lab", "charter.md").as_deref(), Some(REVIEWER));
        let near = world.ann.asks(&format!("{key} value:reviwer"), "#lab").await;
        assert!(near.contains("Did you mean"), "{near}");

        let gone = world.ann.asks(&format!("{key} value:none"), "#lab").await;
        assert!(gone.contains("has no charter now"), "{gone}");
        assert!(file_of(world, "lab", "charter.md").is_none());
        let audit = "SELECT (json_extract(detail, '$.old') LIKE '%You review%') || ' ' || json_extract(detail, '$.new')
             FROM audit_log WHERE action_string = 'command:agent_config:charter' ORDER BY id DESC LIMIT 1";
        assert_eq!(world.ledger(audit).await, ["1 not set"]);

        // Who may not grant the agent's profile may not take away what narrows it.
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        let alice = Actor::new(&world.discord, "alice");
        alice.person.gets_role("keepers", Rights::MANAGE_CHANNELS);
        let refused = alice.asks(&format!("{key} value:none"), "#lab").await;
        assert!(refused.contains("may be set by members who may grant"), "{refused}");
    })
    .await;
}

//! Commands as the one who gives them sees them.

use serde_json::json;

use crate::world::{Lab, Setup, run_test, run_test_with};

#[tokio::test]
async fn a_command_outside_an_agents_channel_says_what_to_do() {
    run_test(async |world| {
        let answer = world.ann.asks("/status", "#general").await;
        assert!(
            answer.contains("not bound to an agent") && answer.contains("/agent init"),
            "{answer}"
        );
    })
    .await;
}

#[tokio::test]
async fn status_has_the_lines_of_the_design() {
    run_test(async |world| {
        let answer = world.bob.asks("/status", "#lab").await;
        for line in [
            "Agent: lab",
            "Model: ",
            "Permissions: standard",
            "Status: active",
            "Session: idle",
            "workspace: ",
            "Sandbox: ",
        ] {
            assert!(answer.contains(line), "no “{line}” in\n{answer}");
        }
    })
    .await;
}

#[tokio::test]
async fn status_says_whether_the_session_works_is_idle_or_suspended() {
    run_test(async |world| {
        let thought = world.model.is_thinking();
        world.ann.says("#lab", "think").await;
        world.model.was_asked(1).await;
        let working = world.ann.asks("/status", "#lab").await;
        assert!(working.contains("Session: active (working)"), "{working}");
        thought.ends();
        world.sees("#lab", "done thinking").await;
        world
            .waits_for_reply("/status", "Session: active (idle)")
            .await;
        world
            .ann
            .asks("/agent config name:lab key:idle_timeout value:1s", "#lab")
            .await;
        // The timer begins again with the next turn.
        world.exchange("more", "More it is.").await;
        let saved = "SELECT count(*) || '' FROM sessions WHERE trigger = 'idle_timeout'";
        world.ledger_says(saved, &["1"]).await;
        let ids = world.ledger("SELECT id FROM sessions").await;
        let suspended = format!("Session: idle (suspended: {})", &ids[0][..8]);
        world.waits_for_reply("/status", &suspended).await;
    })
    .await;
}

#[tokio::test]
async fn commands_work_right_after_a_restart() {
    run_test(async |world| {
        world.exchange("remember this", "Noted.").await;
        world.restarts().await;
        let status = world.ann.asks("/status", "#lab").await;
        assert!(status.contains("2 messages"), "{status}");
        world.ann.asks("/context clear", "#lab").await;
        let history = world.ann.asks("/context history", "#lab").await;
        assert!(
            history.contains("Sessions for lab:") && history.contains("shutdown"),
            "{history}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_context_is_saved_cleared_and_restored() {
    run_test(async |world| {
        world.exchange("my colour is blue", "Blue it is.").await;
        let empty = world.ann.asks("/context clear", "#lab").await;
        assert!(empty.contains("2 messages"), "{empty}");
        let nothing = world.ann.asks("/context save", "#lab").await;
        assert!(
            nothing.ends_with("There is nothing to save: the context is empty."),
            "{nothing}"
        );
        world.exchange("now red", "Red then.").await;
        let saved = world
            .ann
            .asks("/context save description:colours", "#lab")
            .await;
        assert!(saved.contains("Session saved: colours"), "{saved}");
        let offered = world
            .ann
            .completes("/context restore session_id:", "session_id", "#lab")
            .await;
        assert!(
            offered.iter().any(|label| label.contains("colours")),
            "{offered:?}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_plain_member_is_refused_what_needs_a_permission() {
    run_test(async |world| {
        let refused = world.bob.tries("/agent init name:mine", "#general").await;
        if refused.is_ok() {
            let reason = world.next_private_reply(&world.bob).await;
            assert!(reason.contains("Manage Channels"), "{reason}");
        }
        assert!(world.discord.channel("#mine").is_none());
    })
    .await;
}

#[tokio::test]
async fn help_shows_what_this_person_may_use() {
    run_test(async |world| {
        let for_ann = world.ann.asks("/help", "#lab").await;
        let for_bob = world.bob.asks("/help", "#lab").await;
        assert!(for_ann.contains("/settings model") && for_ann.contains("/agent init"));
        assert!(
            !for_bob.contains("/settings")
                && !for_bob.contains("/agent init")
                && for_bob.contains("/agents"),
            "{for_bob}"
        );
    })
    .await;
}

#[tokio::test]
async fn profiles_are_told_in_words_and_their_patterns_are_in_a_file() {
    run_test(async |world| {
        let run = world.bob.runs("/permissions", "#lab").await;
        let answer = world
            .waits("the profiles", |world| {
                let mut replies = world.discord.replies_to(run).into_iter();
                replies.find(|reply| !reply.attachments.is_empty())
            })
            .await;
        let shown = world.discord.shown(&answer);
        for (name, words) in PROFILES {
            assert!(shown.contains(name), "no “{name}” in\n{shown}");
            assert!(shown.contains(words), "no “{words}” in\n{shown}");
        }
        assert!(!shown.contains("tool:"), "{shown}");
        let file = world.discord.file(&answer.attachments[0]);
        let file = String::from_utf8(file).unwrap();
        assert!(
            file.contains("## standard (default)") && file.contains("`tool:bash:.*`"),
            "{file}"
        );
        let typed = "/agent init name:pad permission_profile:gu";
        let offered = world
            .ann
            .completes(typed, "permission_profile", "#lab")
            .await;
        assert_eq!(offered, [format!("guarded: {}", PROFILES[2].1)]);
        let settings = world.ann.asks("/settings show", "#lab").await;
        assert!(settings.contains(PROFILES[1].1), "{settings}");
    })
    .await;
}

/// The built-in profiles, and what they mean.
const PROFILES: [(&str, &str); 4] = [
    ("open", "does everything without asking"),
    (
        "standard (default)",
        "asks before commands, web pages, pushes and changing its settings or plans · everything else freely",
    ),
    (
        "guarded",
        "never pushes · refuses some commands · everything else freely",
    ),
    ("locked", "looks freely · does nothing else"),
];

#[tokio::test]
async fn help_comes_in_groups() {
    run_test(async |world| {
        let help = world.ann.asks("/help", "#lab").await;
        let at = |words: &str| {
            help.find(words)
                .unwrap_or_else(|| panic!("no “{words}” in\n{help}"))
        };
        let order = [
            "Talk",
            "/ask",
            "Conversation",
            "/context save",
            "Tasks",
            "/tasks",
            "Agents",
            "/agent init",
            "Server",
            "/settings model",
            "About",
            "/ping",
        ];
        assert!(order.map(at).is_sorted(), "{help}");
        // Each command stands in the group that it declares, those of messages too.
        for missed in ["Others", "Ask one model"] {
            assert!(!help.contains(missed), "{help}");
        }
        for command in [
            "/run show",
            "/roles",
            "/decisions list",
            "Retry",
            "Branch from here",
        ] {
            assert_eq!(help.matches(command).count(), 1, "{command}: {help}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_name_that_is_none_is_proposed_as_discord_would_make_it() {
    run_test(async |world| {
        let asked = world
            .ann
            .asks(
                "/agent init name:My_Helper! system_prompt:Help.",
                "#general",
            )
            .await;
        assert!(asked.contains("my-helper"), "{asked}");
        world.ann.clicks("#general", "Make my-helper").await;
        world
            .waits("the agent with all that was entered", |world| {
                let file = world.home().join("agents/my-helper/agent.json");
                let text = std::fs::read_to_string(file).ok()?;
                text.contains("Help.").then_some(())
            })
            .await;
    })
    .await;
}

#[tokio::test]
async fn status_tells_context_cost_budget_queue_and_version() {
    let setup = Setup {
        config: json!({"budgets": {"agent_day": 5.0, "month": 100.0}}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.exchange("hello", "Hello.").await;
        let status = world.ann.asks("/status", "#lab").await;
        let line = |start: &str| {
            let mut lines = status.lines();
            let line = lines.find_map(|line| line.split_once(start));
            let (_, rest) = line.unwrap_or_else(|| panic!("no “{start}” in\n{status}"));
            rest.to_owned()
        };
        let context = line("Context: ");
        let (tokens, window) = context.split_once(" of ").unwrap();
        assert!(
            tokens.replace(',', "").parse::<u64>().unwrap() > 0,
            "{context}"
        );
        assert!(
            window.ends_with("%)") && window.contains(" tokens ("),
            "{context}"
        );
        let cost = line("Cost today: ");
        assert!(cost.starts_with('$'), "{cost}");
        assert!(
            cost.contains("left of today's budget") && cost.contains("left of this month's"),
            "{cost}"
        );
        assert!(
            line("Permissions: ").starts_with("standard (asks before commands, "),
            "{status}"
        );
        let version = concat!("-# Chorus ", env!("CARGO_PKG_VERSION"));
        assert!(line(version).contains("started <a time>"), "{status}");
        // The ledger knows it after a restart.
        world.restarts().await;
        let again = world.ann.asks("/status", "#lab").await;
        assert!(again.contains("Context: "), "{again}");
        let ping = world.ann.runs("/ping", "#lab").await;
        world
            .waits("the answer with the version", |world| {
                let mut replies = world.discord.replies_to(ping).into_iter();
                let is_told = |one: &str| one.starts_with("Pong! ") && one.contains(version);
                replies.find(|one| is_told(&one.content))
            })
            .await;
    })
    .await;
}

#[tokio::test]
async fn messages_that_wait_are_counted() {
    run_test(async |world| {
        let thought = world.model.thinks_about_summaries();
        world.exchange("hello", "Hello.").await;
        world.ann.runs("/context save", "#lab").await;
        world.model.was_asked(2).await;
        world.ann.says("#lab", "and then?").await;
        world
            .waits_for_reply("/status", "Queue: 1 message waits")
            .await;
        world.model.answers("Then this.");
        drop(thought);
        world.sees("#lab", "Then this.").await;
        let status = world.ann.asks("/status", "#lab").await;
        assert!(!status.contains("Queue:"), "{status}");
    })
    .await;
}

#[tokio::test]
async fn an_unknown_model_is_refused() {
    run_test(async |world| {
        let answer = world
            .ann
            .asks("/settings model model:no-such-model", "#general")
            .await;
        assert!(answer.contains("no-such-model"), "{answer}");
        let shown = world.ann.asks("/settings show", "#general").await;
        assert!(!shown.contains("no-such-model"), "{shown}");
    })
    .await;
}

#[tokio::test]
async fn a_model_that_is_not_there_is_refused_privately() {
    run_test(async |world| {
        for command in [
            "/ask prompt:are you there? model:gpt-5",
            "/ask prompt:are you there? model:no-such-model",
        ] {
            let told = world.ann.asks(command, "#lab").await;
            assert!(
                told.contains("only ann sees this") && told.contains("There is no model"),
                "{command}: {told}"
            );
        }
        let aloud = world.messages("#lab");
        let aloud = aloud.iter().filter(|one| !one.is_ephemeral());
        // The welcome.
        assert_eq!(aloud.count(), 1, "{}", world.transcript("#lab"));
    })
    .await;
}

#[tokio::test]
async fn destroying_asks_first() {
    run_test(async |world| {
        let asked = world.ann.asks("/agent destroy name:lab", "#general").await;
        assert!(asked.contains("Destroy agent"), "{asked}");
        world.ann.clicks("#general", "Cancel").await;
        world.ann.asks("/agent destroy name:lab", "#general").await;
        assert!(world.discord.channel("#lab").is_some());
        world.ann.clicks("#general", "Confirm").await;
        world
            .waits("the channel to go", |world| {
                world.discord.channel("#lab").is_none().then_some(())
            })
            .await;
        world
            .waits("the end of lab", |world| {
                let told = world.discord.private_messages(world.ann.id());
                let told = told
                    .iter()
                    .any(|one| one.content.contains("**lab** is destroyed"));
                told.then_some(())
            })
            .await;
        let listed = world.ann.asks("/agent list", "#general").await;
        assert!(
            listed.contains("destroyed") && listed.contains("files deleted"),
            "{listed}"
        );
    })
    .await;
}

#[tokio::test]
async fn access_roles_shut_others_out() {
    run_test(async |world| {
        let role = world
            .ann
            .person
            .gets_role("crew", chorus_playground::Rights(0));
        world
            .ann
            .asks(&format!("/settings access role:{role}"), "#general")
            .await;
        world.bob.says("#lab", "may I?").await;
        let refused = world.bob.asks("/status", "#lab").await;
        assert!(refused.contains("no access"), "{refused}");
        world.exchange("may I?", "Yes, Ann.").await;
        assert_eq!(world.model.requests().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn commands_that_discord_lost_are_registered_again() {
    run_test(async |world| {
        world.stops().await;
        world.discord.forgets_commands();
        world.starts().await;
        world.ann.asks("/ping", "#lab").await;
    })
    .await;
}

#[tokio::test]
async fn commands_are_registered_once() {
    let setup = Setup {
        lab: Lab::Missing,
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        world.restarts().await;
        let puts = world.discord.requests();
        let puts = puts
            .iter()
            .filter(|one| one.method == "PUT" && one.path.ends_with("/commands"));
        assert_eq!(puts.count(), 1);
    })
    .await;
}

#[tokio::test]
async fn roles_of_an_agent_that_make_no_sense_never_let_everybody_in() {
    run_test(async |world| {
        let role = world
            .ann
            .person
            .gets_role("crew", chorus_playground::Rights(0));
        for nonsense in ["admins", "[null]", "[]", "\"\"", "-1", "<@&>"] {
            let command = format!("/agent config name:lab key:access_roles value:{nonsense}");
            let told = world.ann.asks(&command, "#lab").await;
            assert!(
                told.contains("Name roles by mention or id"),
                "{nonsense}: {told}"
            );
        }
        for named in [
            format!("<@&{role}>"),
            format!("[\"{role}\"]"),
            role.to_string(),
        ] {
            let command = format!("/agent config name:lab key:access_roles value:{named}");
            world.ann.asks(&command, "#lab").await;
            assert_eq!(
                world.agent_json("lab")["access_roles"],
                serde_json::json!([role.0])
            );
        }
        let refused = world.bob.asks("/status", "#lab").await;
        assert!(refused.contains("no access"), "{refused}");
        // By hand, as text, it means the same.
        let path = world.home().join("agents/lab/agent.json");
        let mut agent = world.agent_json("lab");
        agent["access_roles"] = serde_json::json!([role.to_string()]);
        std::fs::write(&path, agent.to_string()).unwrap();
        let refused = world.bob.asks("/status", "#lab").await;
        assert!(refused.contains("no access"), "{refused}");
        world
            .ann
            .asks(
                "/agent config name:lab key:access_roles value:everyone",
                "#lab",
            )
            .await;
        world.confirms().await;
        let shown = world.bob.asks("/status", "#lab").await;
        assert!(shown.contains("Agent: lab"), "{shown}");

        let twice = r#"{"allow": [], "ask": [], "deny": ["tool:bash:.*"], "deny": []}"#;
        let command = format!("/agent config name:lab key:permissions value:{twice}");
        let told = world.ann.asks(&command, "#lab").await;
        assert!(told.contains("the key `deny` stands twice"), "{told}");
        assert_eq!(world.agent_json("lab")["permissions"], "standard");
    })
    .await;
}

#[tokio::test]
async fn the_channel_of_a_new_agent_is_opened_by_a_press() {
    run_test(async |world| {
        let shown = world.ann.asks("/agent init name:pad", "#general").await;
        assert!(shown.contains("[Open #pad]"), "{shown}");
        let guild = world.discord.guild();
        let address = format!(
            "https://discord.com/channels/{guild}/{}",
            world.channel("#pad")
        );
        let requests = world.discord.requests();
        let leads = requests
            .iter()
            .any(|one| one.body.to_string().contains(&address));
        assert!(leads, "nothing leads to {address}");
    })
    .await;
}

#[tokio::test]
async fn who_stops_nothing_is_told_alone() {
    run_test(async |world| {
        for command in ["/stop", "/abort"] {
            world.ann.runs(command, "#lab").await;
            let told = world.next_private_reply(&world.ann).await;
            assert!(told.contains("Nothing is running here."), "{told}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_misspelt_profile_is_never_corrected_to_the_widest() {
    run_test(async |world| {
        for (typed, proposed) in [
            ("opem", "there are open"),
            ("lockd", "did you mean `locked`?"),
        ] {
            let command = format!("/agent config name:lab key:permissions value:{typed}");
            let told = world.ann.asks(&command, "#lab").await;
            assert!(told.contains(proposed), "{typed}: {told}");
        }
    })
    .await;
}

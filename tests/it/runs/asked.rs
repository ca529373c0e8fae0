//! Questions of sub-agents: several at once, who may answer, and what may be allowed for ever.

use chorus_playground::Message;
use serde_json::json;

use super::{assignment, charter, results_of, run_test};
use crate::world::World;

/// Cards that can still be answered.
fn open_cards(world: &World) -> Vec<Message> {
    let can_be_allowed = |one: &Message| {
        let buttons = one.buttons();
        buttons
            .iter()
            .any(|button| button.label == "Allow" && !button.is_disabled)
    };
    let all = world.messages("#lab");
    all.into_iter().filter(can_be_allowed).collect()
}

/// Two sub-agents each want to write a file, and a person is asked about both.
async fn two_ask(world: &World) -> [Message; 2] {
    world.model.follows(|request| {
        use chorus_playground::model::wire::{Block, Reply};
        let text = request.to_string();
        let is_child = request["system"].to_string().contains("a sub-agent of");
        let has_result = text.contains("tool_result");
        let block = match (is_child, has_result) {
            (true, false) => {
                let name = ["One", "Two"]
                    .into_iter()
                    .find(|name| text.contains(&format!("Write {name}.")))
                    .unwrap();
                let command = json!({"command": format!("echo {name} > {name}.txt")});
                Block::Call("toolu_write".to_owned(), "bash".to_owned(), command)
            }
            (true, true) => Block::Text("That is what came of it.".to_owned()),
            (false, true) => Block::Text("Both are back.".to_owned()),
            (false, false) => {
                let blocks = ["One", "Two"].map(|name| {
                    let (tool, task) = assignment("general", &format!("Write {name}."));
                    Block::Call(format!("toolu_{name}"), tool.to_owned(), task)
                });
                return Reply::new(blocks.into());
            }
        };
        Reply::new(vec![block])
    });
    world.ann.says("#lab", "go").await;
    let cards = world
        .waits("two questions", |world| {
            let open = open_cards(world);
            <[Message; 2]>::try_from(open).ok()
        })
        .await;
    let is_of_one = |card: &Message| card.embeds[0].to_string().contains("Write One.");
    let [first, second] = cards;
    if is_of_one(&first) {
        [first, second]
    } else {
        [second, first]
    }
}

#[tokio::test]
async fn two_ask_at_once_and_each_card_decides_its_own() {
    run_test(async |world| {
        let [one, two] = two_ask(world).await;
        for (card, name) in [(&one, "One"), (&two, "Two")] {
            let embed = &card.embeds[0];
            assert_eq!(embed["title"], "lab ▸ general asks for permission");
            let text = embed.to_string();
            assert!(
                text.contains(&format!("For “about Write {name}.”")),
                "{text}"
            );
        }
        let lab = world.channel("#lab");
        // Somebody who may not is told why, and nothing is decided.
        world.bob.person.clicks(lab, one.id, "Allow").unwrap();
        let reason = world.next_private_reply(&world.bob).await;
        assert!(reason.contains("Manage Server"), "{reason}");
        let decided = "SELECT count(*) || '' FROM audit_log WHERE action_string LIKE 'tool:bash:%'";
        assert_eq!(world.ledger(decided).await, ["0"]);

        world.ann.person.clicks(lab, two.id, "Deny").unwrap();
        world.ledger_says(decided, &["1"]).await;
        assert!(open_cards(world).iter().any(|card| card.id == one.id));
        world.ann.person.clicks(lab, one.id, "Allow").unwrap();
        world.sees("#lab", "Both are back.").await;
        let there = ["One.txt", "Two.txt"].map(|name| world.workspace("lab").join(name).exists());
        assert_eq!(there, [true, false]);
        let rows =
            "SELECT t.title || ' ' || a.decision FROM audit_log a JOIN turns t ON t.id = a.turn_id
            WHERE a.action_string LIKE 'tool:bash:%' ORDER BY t.title";
        let expected = [
            "about Write One. ask_approved",
            "about Write Two. ask_denied",
        ];
        assert_eq!(world.ledger(rows).await, expected);
    })
    .await;
}

#[tokio::test]
async fn a_press_after_the_end_of_the_run_decides_nothing() {
    run_test(async |world| {
        let [one, _] = two_ask(world).await;
        world.ann.runs("/abort", "#lab").await;
        world.sees("#lab", "Nothing more will run").await;
        // The card says that it is over; whoever has it on the screen can still press.
        let lab = world.channel("#lab");
        if world.ann.person.clicks(lab, one.id, "Allow").is_ok() {
            let late = world.next_private_reply(&world.ann).await;
            assert!(!late.is_empty());
        }
        let decisions =
            "SELECT DISTINCT decision || ' ' || (decided_by = user_id) FROM audit_log WHERE action_string LIKE 'tool:bash:%'";
        world.ledger_says(decisions, &["ask_cancelled 1"]).await;
        assert!(!world.workspace("lab").join("One.txt").exists());
    })
    .await;
}

#[tokio::test]
async fn a_stop_while_a_person_is_asked_gives_the_child_its_last_words() {
    run_test(async |world| {
        let [one, two] = two_ask(world).await;
        world.ann.runs("/stop", "#lab").await;
        world
            .waits("the end of both questions", |world| {
                open_cards(world).is_empty().then_some(())
            })
            .await;
        world
            .ledger_says("SELECT DISTINCT state FROM turns", &["finished"])
            .await;
        assert_ne!(one.id, two.id);
        let exits = "SELECT DISTINCT exit FROM turns";
        assert_eq!(world.ledger(exits).await, ["stopped"]);
    })
    .await;
}

#[tokio::test]
async fn always_allow_is_there_only_where_the_agents_own_profile_asks() {
    run_test(async |world| {
        let labels = async |world: &World| {
            let card = world.question("#lab").await;
            let buttons = card.buttons();
            buttons
                .into_iter()
                .map(|button| button.label)
                .collect::<Vec<_>>()
        };
        charter(
            world,
            "careful",
            "---\nname: careful\ndescription: Asks first.\npermissions: {allow: [], ask: ['.*'], deny: []}\n---\nDo it.\n",
        );
        // The agent's own profile asks: what is always allowed for it has a place to stand.
        world.model.calls(&[assignment("general", "Write.")]);
        world.model.calls_tool("bash", json!({"command": "echo a > a.txt"}));
        world.ann.says("#lab", "go").await;
        let own = labels(world).await;
        assert!(own.contains(&"Always allow".to_owned()), "{own:?}");
        world.model.answers("Written.").answers("It wrote a.");
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "It wrote a.").await;

        // Only the role asks: what the agent always allows says nothing of it.
        world.edits_agent_json("lab", json!({"permissions": "open"}));
        world.model.calls(&[assignment("careful", "Write.")]);
        world.model.calls_tool("bash", json!({"command": "echo b > b.txt"}));
        world.ann.says("#lab", "go on").await;
        let of_role = labels(world).await;
        assert!(of_role.contains(&"Allow".to_owned()), "{of_role:?}");
        assert!(!of_role.contains(&"Always allow".to_owned()), "{of_role:?}");
        world.model.answers("Written.").answers("It wrote b.");
        world.ann.clicks("#lab", "Allow").await;
        world.sees("#lab", "It wrote b.").await;
        let last = world.model.last_request();
        let report = results_of(&last).pop().unwrap();
        assert!(report.ends_with("Written."), "{report}");
    })
    .await;
}

//! What a role brings besides its text: skills that it names, the model of a tier, what a sub-agent's conversation begins with.

use serde_json::json;

use super::{system, writes};
use crate::world::{Setup, World, run_test, run_test_with};

fn skill(world: &World, name: &str, text: &str) {
    let folder = world.workspace("lab").join(".claude/skills").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("SKILL.md"), text).unwrap();
}

#[tokio::test]
async fn the_skills_that_a_role_names_stand_in_front_whole() {
    run_test(async |world| {
        skill(
            world,
            "deploying",
            "---\nname: deploy\ndescription: Ships it.\n---\n\nFirst tag, then push.\n",
        );
        skill(
            world,
            "testing",
            "---\nname: testing\ndescription: Tests it.\n---\n\nRun all of them.\n",
        );
        world.exchange("hello", "Hello.").await;
        assert!(!system(world).contains("First tag, then push."));
        let role =
            "---\nname: shipper\ndescription: Ships.\nskills: [deploy, nothing]\n---\nYou ship.\n";
        writes(world, "charter.md", role);
        world.exchange("ship it", "Shipped.").await;
        let told = system(world);
        assert!(
            told.contains("## Skill `deploy`, which your role names"),
            "{told}"
        );
        assert!(told.contains("First tag, then push."), "{told}");
        assert!(
            told.contains("names the skill `nothing`, which the repository"),
            "{told}"
        );
        assert!(!told.contains("Run all of them."), "{told}");
        // An edit holds at the next request; so does another name in the charter.
        skill(
            world,
            "deploying",
            "---\nname: deploy\ndescription: Ships it.\n---\nPush at once.\n",
        );
        world.exchange("again", "Again.").await;
        assert!(system(world).contains("Push at once."));
        writes(
            world,
            "charter.md",
            &role.replace("[deploy, nothing]", "[testing]"),
        );
        world.exchange("once more", "Once more.").await;
        let told = system(world);
        assert!(
            told.contains("Run all of them.") && !told.contains("Push at once."),
            "{told}"
        );
        // Where the repository is not heard, its skills are not either.
        world.edits_agent_json("lab", json!({"repo_instructions": false}));
        world.exchange("deaf?", "Deaf.").await;
        assert!(!system(world).contains("Run all of them."));
    })
    .await;
}

#[tokio::test]
async fn a_tier_in_the_agents_own_charter_is_the_model_that_was_chosen_for_it() {
    run_test_with(Setup::with_small_model(), async |world| {
        let role = |tier: &str| {
            format!("---\nname: scout\ndescription: Looks.\nmodel: {tier}\n---\nYou look.\n")
        };
        writes(world, "charter.md", &role("lightweight"));
        world.edits_agent_json("lab", json!({"model": null}));
        world.exchange("hello", "Hello.").await;
        assert_eq!(world.model.last_request()["model"], "small-one");
        // Nobody chose a model for this tier.
        writes(world, "charter.md", &role("full"));
        world.exchange("and now?", "Now.").await;
        assert_eq!(world.model.last_request()["model"], "scripted-model");
        writes(world, "charter.md", &role("lightweight"));
        world.edits_agent_json("lab", json!({"model": "scripted-model"}));
        world.exchange("whose?", "Its own.").await;
        assert_eq!(world.model.last_request()["model"], "scripted-model");
    })
    .await;
}

#[tokio::test]
async fn a_sub_agent_begins_with_the_decisions_and_keeps_them() {
    run_test(async |world| {
        world.ann.asks("/decisions add text:Doors are red", "#lab").await;
        std::fs::write(
            world.home().join("agents/lab/history.md"),
            "## 2026-01-01 10:00 UTC · Painted (0a0a0a0a)\n\nA wall was painted.\n",
        )
        .unwrap();
        let historian = "---\nname: historian\ndescription: Knows.\nseed: [history]\n---\nYou know.\n";
        writes(world, "charters/historian.md", historian);
        let task = |role: &str| json!({"role": role, "prompt": "Look.", "title": "a look"});
        let call = |role: &str| ("sub_agent", task(role));
        world
            .model
            .calls(&[call("explore")])
            .answers("Nothing.")
            .calls(&[call("historian")])
            .answers("A wall.")
            .answers("Done.");
        world.ann.says("#lab", "go").await;
        world.sees("#lab", "Done.").await;
        let requests = world.model.requests();
        let of = |role: &str| {
            let named = format!("You are `{role}`, a sub-agent");
            let mut all = requests.iter().map(|request| request["system"].to_string());
            all.find(|system| system.contains(&named)).unwrap()
        };
        let explore = of("explore");
        assert!(
            explore.contains("- 1. Doors are red (ann") && !explore.contains("A wall was painted."),
            "{explore}"
        );
        let historian = of("historian");
        assert!(
            historian.contains("A wall was painted.") && !historian.contains("Doors are red"),
            "{historian}"
        );
        let seeds = "SELECT role || ' ' || substr(seed, 2, 7) FROM conversations WHERE kind = 'child' ORDER BY id";
        assert_eq!(
            world.ledger(seeds).await,
            ["explore decisio", "historian history"]
        );
        // What it goes on with is what it began with, whatever was decided since.
        world.ann.asks("/decisions withdraw number:1", "#lab").await;
        let id = world
            .ledger("SELECT substr(id, -8) FROM turns WHERE role = 'explore'")
            .await;
        let mut again = task("explore");
        again["continue"] = json!(id[0]);
        world
            .model
            .calls(&[("sub_agent", again)])
            .answers("Still nothing.")
            .answers("Enough.");
        world.ann.says("#lab", "once more").await;
        world.sees("#lab", "Enough.").await;
        let requests = world.model.requests();
        let [.., child, _] = requests.as_slice() else {
            panic!("{requests:?}");
        };
        assert!(child["system"].to_string().contains("Doors are red"));
    })
    .await;
}

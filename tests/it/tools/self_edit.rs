//! The agent's edits of itself: what they change, who may, what the audit keeps.

use std::sync::Arc;

use chorus::domain::{Participant, ProfileRef, RoleId, UserId};
use insta::{assert_json_snapshot, assert_snapshot};
use serde_json::json;

use super::lab::{Lab, SECRET, person};

/// Role 5 may grant `guarded`, role 6 `open`.
fn lab_with_grants() -> Lab {
    let lab = Lab::new();
    let mut grants = lab.seen.grants.lock().unwrap();
    grants.default_profile = "standard".into();
    grants.table.0.insert(RoleId(5), vec!["guarded".into()]);
    grants.table.0.insert(RoleId(6), vec!["open".into()]);
    drop(grants);
    lab
}

#[tokio::test]
async fn prompt_model_and_web_search_are_written_to_agent_json() {
    let lab = Lab::new();
    assert_snapshot!(lab.does("self_edit_system_prompt", json!({"new_prompt": "Be brief."})).await, @"Your system prompt is replaced, from the next step on.");
    assert_snapshot!(lab.does("self_edit_model", json!({"new_model": "small"})).await, @"You run on `demo-small`, from the next step on.");
    assert_snapshot!(lab.does("self_edit_web_search", json!({"enabled": true})).await, @"Web search is on, from the next step on.");
    let config = lab.config();
    assert_eq!(config.system_prompt, "Be brief.");
    assert_eq!(config.model.as_deref(), Some("demo-small"));
    assert!(config.web_search);

    assert_snapshot!(lab.refuses("self_edit_system_prompt", json!({"new_prompt": " \n"})).await, @"`new_prompt` is empty");
    assert_snapshot!(lab.refuses("self_edit_model", json!({"new_model": "gpt-9"})).await, @"there is no model `gpt-9`");
    assert_eq!(lab.config(), config);
}

#[tokio::test]
async fn notes_are_written_below_docs_and_nowhere_else() {
    let lab = Lab::new();
    assert_snapshot!(lab.does("self_edit_docs", json!({"path": "sub/a.md", "content": "x"})).await, @"Created docs/sub/a.md.");
    assert_snapshot!(lab.does("self_edit_docs", json!({"path": "docs/README.md", "content": "y"})).await, @"Replaced docs/README.md.");
    assert_snapshot!(lab.refuses("self_edit_docs", json!({"path": "../agent.json", "content": "{}"})).await, @"`../agent.json` cannot be used: it leads out of the workspace");
    assert_snapshot!(lab.refuses("self_edit_docs", json!({"path": "docs/../../agent.json", "content": "{}"})).await, @"`../../agent.json` cannot be used: it leads out of the workspace");
    assert_snapshot!(lab.refuses("self_edit_docs", json!({"path": "a.md", "content": "x".repeat(65 * 1024)})).await, @"`content` has 65.0 KiB, notes may have 64 KiB in all; move what is needed rarely to the workspace");
    let docs = lab.home.path().join("agents/lab/docs");
    assert_eq!(std::fs::read_to_string(docs.join("sub/a.md")).unwrap(), "x");
    assert_eq!(
        std::fs::read_to_string(docs.join("README.md")).unwrap(),
        "y"
    );
}

#[tokio::test]
async fn permissions_need_the_right_of_every_person_in_the_turn() {
    let mut lab = lab_with_grants();
    let to = |profile: &str| json!({"new_profile": profile});

    lab.context.people = vec![person(1, &[5])];
    assert_snapshot!(lab.does("self_edit_permissions", to("guarded")).await, @"Your permissions are `guarded`, from the next step on.");
    assert_snapshot!(lab.refuses("self_edit_permissions", to("open")).await, @"none of your roles may grant the profile `open`; an Administrator can allow it with `/settings grants`");

    lab.context.people.push(person(2, &[]));
    assert_snapshot!(lab.refuses("self_edit_permissions", to("guarded")).await, @"none of your roles may grant the profile `guarded`; an Administrator can allow it with `/settings grants`");
    lab.does("self_edit_permissions", to("standard")).await;
    lab.does("self_edit_permissions", to("locked")).await;

    lab.context.people = vec![person(1, &[6]), Participant::Unknown(UserId(2))];
    for profile in ["locked", "standard", "open"] {
        let told = lab.refuses("self_edit_permissions", to(profile)).await;
        assert!(told.contains("cannot be looked up"), "{told}");
    }

    // Somebody is behind the turn, and nobody wrote in it.
    lab.context.people = vec![person(1, &[6])];
    lab.context.has_message = false;
    for profile in ["locked", "standard", "guarded"] {
        let told = lab.refuses("self_edit_permissions", to(profile)).await;
        assert_eq!(
            told,
            "no person started this turn, so nobody's roles allow it"
        );
    }
    assert_eq!(lab.config().permissions, ProfileRef::Named("locked".into()));
}

#[tokio::test]
async fn a_profile_spelled_out_is_checked_and_needs_the_right_to_grant_open() {
    let mut lab = lab_with_grants();
    let custom = json!({"new_profile": {"allow": ["tool:view:.*"], "ask": [], "deny": []}});
    lab.context.people = vec![person(1, &[5])];
    assert_snapshot!(lab.refuses("self_edit_permissions", custom.clone()).await, @"a profile spelled out may only be granted by someone who may grant `open`");
    lab.context.people = vec![person(1, &[6])];
    assert_snapshot!(lab.does("self_edit_permissions", custom).await, @"Your permissions are `custom`, from the next step on.");
    assert!(matches!(lab.config().permissions, ProfileRef::Custom(_)));

    let broken = lab
        .refuses(
            "self_edit_permissions",
            json!({"new_profile": {"allow": ["("], "ask": []}}),
        )
        .await;
    assert!(broken.contains("allow") && broken.contains('0'), "{broken}");
    assert_snapshot!(lab.refuses("self_edit_permissions", json!({"new_profile": "opne"})).await, @"no permission profile is called `opne`; there are open, guarded, standard, locked, reader");
    let refused = lab
        .prepare("self_edit_permissions", json!({"new_profile": 7}))
        .unwrap_err()
        .to_string();
    let (reason, _) = refused.split_once(". Its arguments: ").unwrap();
    assert_snapshot!(reason, @"self_edit_permissions cannot run: `new_profile`: expected a string or an object, got the number 7");
}

#[tokio::test]
async fn the_audit_is_told_old_and_new_before_the_call_runs() {
    let mut lab = Lab::new();
    let mut config = (*lab.context.config).clone();
    config.system_prompt = format!("token {SECRET}");
    lab.context.config = Arc::new(config);
    let long = "y".repeat(20_000);
    let edit = lab
        .prepare("self_edit_system_prompt", json!({"new_prompt": long}))
        .unwrap();
    let change = edit.change(&lab.context).await.unwrap();
    assert_eq!(change.old, "token [redacted]");
    assert!(change.new.starts_with("yyyy"));
    assert_snapshot!(&change.new[16 * 1024..], @" [… cut; 20000 bytes in all, SHA-256 fdb7f88419c3dd0053ff7c3e9db63fda5bcedf3b8a7344fc1a955a17f4423b58]");

    let edit = lab
        .prepare("self_edit_docs", json!({"path": "new.md", "content": "n"}))
        .unwrap();
    assert_json_snapshot!(edit.change(&lab.context).await, @r#"
    {
      "edited": "docs:new.md",
      "old": "",
      "new": "n"
    }
    "#);
    let edit = lab
        .prepare(
            "self_edit_permissions",
            json!({"new_profile": {"ask": ["tool:.*"]}}),
        )
        .unwrap();
    assert_json_snapshot!(edit.change(&lab.context).await, @r#"
    {
      "edited": "permissions",
      "old": "standard",
      "new": "{\"ask\":[\"tool:.*\"]}"
    }
    "#);
    let edit = lab.prepare("view", json!({"path": "."})).unwrap();
    assert_eq!(edit.change(&lab.context).await, None);
}

#[tokio::test]
async fn a_short_name_does_not_lead_to_a_model_that_is_denied() {
    let mut lab = Lab::new();
    lab.may(&[".*"], &[], &["tool:self_edit:model:demo-small"]);
    let told = lab
        .refuses("self_edit_model", json!({"new_model": "small"}))
        .await;
    assert_snapshot!(told, @"`small` means `demo-small`, which the permissions deny; choose another model");
    assert_eq!(lab.config().model, None);
}

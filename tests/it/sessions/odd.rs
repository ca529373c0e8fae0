//! Session files that can be read and hold what no provider takes: restored, people go on from them as from any other.

use serde_json::json;

use super::seen::asks;
use crate::world::{World, run_test};

/// Histories, by what is odd about them.
fn histories() -> Vec<(&'static str, String)> {
    let call = |id: &str, name: &str| format!(r#"{{"id":"{id}","name":"{name}","params":{{}}}}"#);
    let calls = |calls: &[String]| {
        let calls = calls.join(",");
        format!(r#"{{"role":"assistant","content":"","tool_calls":[{calls}]}}"#)
    };
    let result =
        |id: &str| format!(r#"{{"role":"tool_result","tool_call_id":"{id}","content":"done"}}"#);
    let user = r#"{"role":"user","content":"go"}"#;
    let deep = format!("{}1{}", r#"{"a":"#.repeat(90), "}".repeat(90));
    let long = "x".repeat(300);
    let list = |messages: &[&str]| messages.join(",");
    vec![
        (
            "it begins with an answer",
            r#"{"role":"assistant","content":"hi"}"#.to_owned(),
        ),
        ("it is a result only", result("1")),
        (
            "it is a note only",
            r#"{"role":"user","note":true,"content":"x"}"#.to_owned(),
        ),
        (
            "its texts are empty",
            r#"{"role":"user","content":""},{"role":"assistant","content":""}"#.to_owned(),
        ),
        (
            "its texts are white space",
            r#"{"role":"user","content":" \n"},{"role":"assistant","content":"\t"}"#.to_owned(),
        ),
        (
            "its contents are null",
            r#"{"role":"user","content":null},{"role":"assistant","content":null}"#.to_owned(),
        ),
        (
            "a call has no name and no id",
            list(&[user, &calls(&[call("", "")]), &result("")]),
        ),
        (
            "an id has odd characters",
            list(&[
                user,
                &calls(&[call("call 1/ü", "view")]),
                &result("call 1/ü"),
            ]),
        ),
        (
            "an id is very long",
            list(&[user, &calls(&[call(&long, "view")]), &result(&long)]),
        ),
        (
            "a name has odd characters",
            list(&[user, &calls(&[call("1", "view file!")]), &result("1")]),
        ),
        (
            "a name is very long",
            list(&[user, &calls(&[call("1", &long)]), &result("1")]),
        ),
        (
            "an id is there twice in an answer",
            list(&[
                user,
                &calls(&[call("1", "view"), call("1", "view")]),
                &result("1"),
            ]),
        ),
        (
            "an id is there in two answers",
            list(&[
                user,
                &calls(&[call("1", "view")]),
                &result("1"),
                &calls(&[call("1", "view")]),
                &result("1"),
            ]),
        ),
        (
            "a result is before its call",
            list(&[user, &result("1"), &calls(&[call("1", "view")])]),
        ),
        (
            "a result is there twice",
            list(&[
                user,
                &calls(&[call("1", "view")]),
                &result("1"),
                &result("1"),
            ]),
        ),
        (
            "results are in another order",
            list(&[
                user,
                &calls(&[call("1", "view"), call("2", "view")]),
                &result("2"),
                user,
                &result("1"),
            ]),
        ),
        (
            "its last call is open",
            list(&[user, &calls(&[call("1", "view")])]),
        ),
        (
            "two speak twice",
            list(&[
                user,
                user,
                r#"{"role":"assistant","content":"a"}"#,
                r#"{"role":"assistant","content":"b"}"#,
            ]),
        ),
        (
            "a system speaks",
            list(&[r#"{"role":"system","content":"be brief"}"#, user]),
        ),
        (
            "a picture is none",
            r#"{"role":"user","content":"see","images":[{"media_type":"image/png","data":"?!"}]}"#
                .to_owned(),
        ),
        (
            "a picture is of a kind that nobody takes",
            r#"{"role":"user","content":"see","images":[{"media_type":"text/x","data":"AAAA"}]}"#
                .to_owned(),
        ),
        (
            "a thought has no signature",
            list(&[
                user,
                r#"{"role":"assistant","content":"a","opaque":[{"format":"anthropic","index":0,"block":{"type":"thinking"}}]}"#,
            ]),
        ),
        (
            "a block is of no kind",
            list(&[
                user,
                r#"{"role":"assistant","content":"a","opaque":[{"format":"anthropic","index":9,"block":[1]}]}"#,
            ]),
        ),
        (
            "arguments are deep",
            list(&[
                user,
                &format!(
                    r#"{{"role":"assistant","content":"","tool_calls":[{{"id":"1","name":"view","params":{deep}}}]}}"#
                ),
                &result("1"),
            ]),
        ),
        (
            "a key that nobody reads is very deep",
            format!(
                r#"{{"role":"user","content":"go","more":{}{}}}"#,
                "[".repeat(5000),
                "]".repeat(5000)
            ),
        ),
        (
            "there are control characters",
            r#"{"role":"user","content":"a\u0000b\u001b[2J\u202e"}"#.to_owned(),
        ),
        (
            "a failure says nothing",
            list(&[
                user,
                &calls(&[call("1", "view")]),
                r#"{"role":"tool_result","tool_call_id":"1","content":"","is_error":true}"#,
            ]),
        ),
    ]
}

fn write(world: &World, stem: &str, description: &str, saved_at: &str, messages: &str) {
    let folder = world.home().join("agents/lab/sessions");
    std::fs::create_dir_all(&folder).unwrap();
    let description = json!(description);
    let text = format!(
        r#"{{"id":"x","session_id":"../../{stem}","agent_name":"other","description":{description},"message_count":-3,
            "saved_at":"{saved_at}","messages":[{messages}]}}"#
    );
    std::fs::write(folder.join(format!("{stem}.json")), text).unwrap();
}

#[tokio::test]
async fn whatever_a_session_holds_people_can_go_on_from_it() {
    run_test(async |world| {
        world.model.always_answers("go on", "On it goes.");
        for (number, (what, messages)) in histories().into_iter().enumerate() {
            let stem = format!("2026-02-12_odd-{number}");
            write(world, &stem, what, "2026-02-12T10:30:00Z", &messages);
            let reply = asks(world, &format!("/context restore session_id:{stem}")).await;
            assert!(reply.contains("Context restored"), "{what}: {reply}");
            let asked = world.ann.says("#lab", "go on").await;
            world
                .waits(&format!("an answer where {what}"), |world| {
                    let messages = world.messages("#lab");
                    let answer = messages.iter().find(|one| one.reply_to == Some(asked));
                    answer.map(|one| one.content.clone())
                })
                .await;
            assert_eq!(world.model.violations(), Vec::<String>::new(), "{what}");
        }
    })
    .await;
}

#[tokio::test]
async fn odd_labels_and_times_are_listed_like_others() {
    run_test(async |world| {
        let user = r#"{"role":"user","content":"go"}"#;
        let long = "word ".repeat(30_000);
        let labels = [
            (
                "2026-02-12_a",
                "@everyone \n# big\u{202e}```",
                "0000-01-01T00:00:00Z",
            ),
            (
                "2026-02-12_b",
                long.as_str(),
                "9999-12-31T23:59:59.999999999Z",
            ),
            ("Ünïcode name", "", "2026-02-12T10:30:00+14:00"),
        ];
        for (stem, description, at) in labels {
            write(world, stem, description, at, user);
        }
        let list = asks(world, "/context history").await;
        for shown in ["word word", "@everyone # big", "3 sessions"] {
            assert!(list.contains(shown), "{shown}: {list}");
        }
        for (stem, ..) in labels {
            let reply = asks(world, &format!("/context restore session_id:{stem}")).await;
            assert!(reply.contains("Context restored"), "{stem}: {reply}");
        }
    })
    .await;
}

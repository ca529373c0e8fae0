//! Whatever happens to a conversation, a repair makes it valid, and shortening keeps it so.

use chorus::domain::{Assistant, CallId, Item, ToolCall, ToolResult, UserText};
use chorus::llm::history::{
    BEGINNING_MISSING, INTERRUPTED, Measured, clip, drop_oldest_exchanges, fit, is_valid, repair,
    split_for_compaction, used_tokens,
};
use chorus::llm::tokens;
use proptest::prelude::*;
use serde_json::Map;

pub(super) fn said(text: &str) -> Item {
    Item::User(UserText {
        text: text.into(),
        ..UserText::default()
    })
}

pub(super) fn answered(text: &str) -> Item {
    Item::Assistant(Assistant {
        text: text.into(),
        ..Assistant::default()
    })
}

pub(super) fn called(ids: &[&str]) -> Item {
    let call = |id: &&str| ToolCall {
        id: CallId((*id).into()),
        name: "view".into(),
        arguments: Map::new(),
    };
    Item::Assistant(Assistant {
        tool_calls: ids.iter().map(call).collect(),
        ..Assistant::default()
    })
}

pub(super) fn result(id: &str, content: &str) -> Item {
    Item::ToolResult(ToolResult {
        call_id: CallId(id.into()),
        name: "view".into(),
        content: content.into(),
        ..ToolResult::default()
    })
}

fn interrupted(id: &str) -> Item {
    Item::ToolResult(ToolResult {
        call_id: CallId(id.into()),
        name: "view".into(),
        content: INTERRUPTED.into(),
        is_error: true,
        ..ToolResult::default()
    })
}

#[test]
fn a_valid_conversation_is_left_alone() {
    let items = [
        said("look"),
        called(&["a", "b"]),
        result("a", "1"),
        result("b", "2"),
        answered("done"),
    ];
    assert!(is_valid(&items));
    let repaired = repair(&items);
    assert_eq!(repaired.items, items);
    assert_eq!(repaired.changed, Vec::<String>::new());
}

#[test]
fn a_call_that_a_crash_interrupted_is_closed() {
    let repaired = repair(&[said("look"), called(&["a", "b"]), result("b", "2")]);
    assert_eq!(
        repaired.items,
        [
            said("look"),
            called(&["a", "b"]),
            interrupted("a"),
            result("b", "2")
        ]
    );
    assert_eq!(
        repaired.changed,
        [
            "1 call closed without a result",
            "1 result moved to its call"
        ]
    );
}

#[test]
fn results_go_back_to_their_calls_and_orphans_are_dropped() {
    let repaired = repair(&[
        said("look"),
        called(&["a", "b"]),
        result("b", "2"),
        said("and hurry"),
        result("a", "1"),
        result("nobody", "3"),
    ]);
    let expected = [
        said("look"),
        called(&["a", "b"]),
        result("a", "1"),
        result("b", "2"),
        said("and hurry"),
    ];
    assert_eq!(repaired.items, expected);
    assert_eq!(
        repaired.changed,
        [
            "1 result dropped for lack of a call",
            "2 results moved to its call"
        ]
    );
}

#[test]
fn ids_used_twice_are_told_apart_and_each_result_follows_its_call() {
    let repaired = repair(&[
        said("look"),
        called(&["a"]),
        result("a", "first"),
        called(&["a", "a"]),
        result("a", "second"),
        result("a", "third"),
    ]);
    let expected = [
        said("look"),
        called(&["a"]),
        result("a", "first"),
        called(&["a_2", "a_3"]),
        result("a_2", "second"),
        result("a_3", "third"),
    ];
    assert_eq!(repaired.items, expected);
}

#[test]
fn ids_and_names_that_a_provider_refuses_are_replaced() {
    let long = "x".repeat(200);
    let mut call = called(&[&long]);
    if let Item::Assistant(answer) = &mut call {
        answer.tool_calls[0].name = "run it!".into();
    }
    let repaired = repair(&[said("look"), call, result(&long, "1")]);
    let Item::Assistant(answer) = &repaired.items[1] else {
        panic!("an answer")
    };
    assert_eq!(answer.tool_calls[0].name, "run_it_");
    assert!(answer.tool_calls[0].id.0.len() <= 40);
    assert!(is_valid(&repaired.items));
}

#[test]
fn an_empty_answer_goes_and_a_missing_beginning_is_named() {
    let repaired = repair(&[answered(" "), answered("as I said"), said("  ")]);
    assert_eq!(
        repaired.items,
        [
            Item::User(UserText::note(BEGINNING_MISSING)),
            answered("as I said")
        ]
    );
    assert_eq!(repair(&[]).items, []);
    assert!(is_valid(&[]));
}

/// Any item, with ids from a small set so that they collide.
pub(super) fn item() -> impl Strategy<Value = Item> {
    let ids = vec!["", "a", "b", "c", "a_2", "née", "call", "weird id!"];
    let id = prop::sample::select(ids);
    prop_oneof![
        "[a-z ]{0,8}".prop_map(|text| said(&text)),
        "[a-z ]{0,8}".prop_map(|text| answered(&text)),
        prop::collection::vec(id.clone(), 1..4).prop_map(|ids| called(&ids)),
        (id, "[a-z]{0,8}").prop_map(|(id, text)| result(id, &text)),
    ]
}

proptest! {
    #[test]
    fn whatever_it_was_a_repaired_conversation_is_valid_and_stays_as_it_is(items in prop::collection::vec(item(), 0..24)) {
        let once = repair(&items);
        prop_assert!(is_valid(&once.items), "{:#?}", once.items);
        prop_assert_eq!(once.changed.is_empty(), once.items == items);
        prop_assert_eq!(is_valid(&items), once.items == items);
        let twice = repair(&once.items);
        prop_assert_eq!(&twice.items, &once.items);
        prop_assert!(twice.changed.is_empty());
    }

    #[test]
    fn every_cut_of_a_conversation_is_valid_after_the_summary(
        items in prop::collection::vec(item(), 0..24),
        keep in 0_u64..120,
    ) {
        let items = repair(&items).items;
        if let Some(at) = split_for_compaction(&items, keep) {
            prop_assert!(at > 0 && at < items.len());
            let mut kept = vec![said("summary")];
            kept.extend_from_slice(&items[at..]);
            prop_assert!(is_valid(&kept), "{:#?}", kept);
            prop_assert!(is_valid(&items[..at]));
        }
        prop_assert!(is_valid(&drop_oldest_exchanges(&items, keep).items));
    }
}

#[test]
fn a_cut_falls_between_exchanges_while_they_fit() {
    let long = "x".repeat(400);
    let items = [
        said(&long),
        answered(&long),
        said("two"),
        called(&["a"]),
        result("a", "1"),
        answered("two"),
        said("three"),
        answered("three"),
    ];
    assert_eq!(split_for_compaction(&items, 60), Some(2));
    assert_eq!(split_for_compaction(&items, 15), Some(6));
    assert_eq!(split_for_compaction(&items, 1_000), Some(2));
    assert_eq!(split_for_compaction(&items[..2], 10), None);
}

#[test]
fn one_long_exchange_is_cut_between_its_steps() {
    let long = "x".repeat(400);
    let items = [
        said("go"),
        called(&["a"]),
        result("a", &long),
        called(&["b"]),
        result("b", &long),
        called(&["c"]),
        result("c", "end"),
    ];
    assert_eq!(split_for_compaction(&items, 150), Some(3));
    assert_eq!(split_for_compaction(&items, 1), Some(5));
    let dropped = drop_oldest_exchanges(&items, 50);
    assert_eq!(dropped.count, 5);
    assert!(tokens::of_items(&dropped.items) <= 50);
    assert!(is_valid(&dropped.items));
}

#[test]
fn a_text_too_long_is_shortened_in_its_middle() {
    let long = "0123456789".repeat(10);
    let mut items = [result("a", &long), result("b", "short"), said(&long)];
    clip(&mut items, 10);
    assert_eq!(items[0].text(), "01234\n[90 characters left out]\n56789");
    assert_eq!(items[1].text(), "short");
    assert_eq!(items[2].text(), "01234\n[90 characters left out]\n56789");
}

/// Whatever the newest step holds, long arguments too, it is made to fit.
#[test]
fn one_step_that_is_too_long_by_itself_is_made_to_fit() {
    let mut call = called(&["a", "b"]);
    if let Item::Assistant(answer) = &mut call {
        let long = serde_json::json!({"content": "x".repeat(40_000), "list": ["y".repeat(9_000)]});
        answer.tool_calls[0].arguments = long.as_object().unwrap().clone();
    }
    let items = vec![
        said(&"old ".repeat(900)),
        answered("yes"),
        said(&"z".repeat(70_000)),
        call,
        result("a", &"r".repeat(90_000)),
        result("b", &"s".repeat(90_000)),
    ];
    for budget in [300, 1_000, 3_000] {
        let fitted = fit(&items, budget).items;
        assert!(tokens::of_items(&fitted) <= budget, "{budget}");
        assert!(is_valid(&repair(&fitted).items));
    }
}

#[test]
fn what_a_provider_counted_is_believed_and_the_rest_estimated() {
    let items = [said("one"), answered("two"), said(&"x".repeat(40))];
    assert_eq!(used_tokens(&items, 100, None, 1.0), 100 + 4 + 4 + 14);
    let measured = Measured {
        items: 2,
        tokens: 5_000,
    };
    assert_eq!(used_tokens(&items, 100, Some(measured), 1.0), 5_014);
    assert_eq!(used_tokens(&items, 100, Some(measured), 2.0), 5_028);
    let stale = Measured {
        items: 9,
        tokens: 5_000,
    };
    assert_eq!(used_tokens(&items, 100, Some(stale), 1.0), 122);
}

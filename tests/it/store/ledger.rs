//! The steps D1 to D9, each seen from outside.

use chorus::domain::{CallId, Inbound, Item, MessageId, UserId};
use chorus::store::{
    Accepted, AttachedRows, Begun, Decision, FinishedTurn, FirstPart, NextPart, Opening, PartState,
    Queued, Settled, Starting, StoreError, TurnEnd,
};

use super::{CHANNEL, Home, answer, finished, message, new_question, new_turn, result, user};

#[tokio::test]
async fn a_replayed_message_is_one_message() {
    let home = Home::new().await;
    let hello = message(100, "hello");
    assert_eq!(home.store.accept(&hello).await.unwrap(), Accepted::New);
    assert_eq!(home.store.accept(&hello).await.unwrap(), Accepted::Known);
    assert_eq!(home.store.unclaimed().await.unwrap(), [hello]);
}

#[tokio::test]
async fn a_cursor_never_moves_back() {
    let home = Home::new().await;
    for id in [100, 300, 200] {
        home.store.accept(&message(id, "hello")).await.unwrap();
    }
    home.store
        .advance_cursor(CHANNEL, MessageId(250))
        .await
        .unwrap();
    assert_eq!(
        home.store.cursor(CHANNEL).await.unwrap(),
        Some(MessageId(300))
    );
}

#[tokio::test]
async fn a_waiting_message_can_be_edited_and_dropped_but_not_one_in_a_turn() {
    let home = Home::new().await;
    home.store.accept(&message(100, "helo")).await.unwrap();
    let edited = home
        .store
        .update_queued(MessageId(100), "hello", None)
        .await;
    assert_eq!(edited.unwrap(), Queued::Changed);
    assert_eq!(home.store.unclaimed().await.unwrap()[0].content, "hello");
    assert_eq!(
        home.store.drop_queued(MessageId(100)).await.unwrap(),
        Queued::Changed
    );

    home.turn(101).await;
    let late = home.store.update_queued(MessageId(101), "no", None).await;
    assert_eq!(late.unwrap(), Queued::NotWaiting);
    assert_eq!(
        home.store.drop_queued(MessageId(101)).await.unwrap(),
        Queued::NotWaiting
    );
    assert!(home.store.unclaimed().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_turn_does_not_begin_with_words_that_were_edited_meanwhile() {
    let home = Home::new().await;
    let conversation = home.conversation().await;
    let [came, edited] = ["helo", "hello"].map(|text| message(100, text));
    home.store.accept(&came).await.unwrap();
    let change = home.store.update_queued(came.id, &edited.content, None);
    assert_eq!(change.await.unwrap(), Queued::Changed);

    let begin = async |message: &Inbound| {
        let turn = new_turn(home.agent, &conversation, 100);
        let item = user(100, &message.content);
        let opening = Opening {
            unchanged: Some(message),
            ..Opening::new(turn, vec![item])
        };
        home.store.begin_turn(opening).await.unwrap()
    };
    assert_eq!(begin(&came).await, Begun::Not);
    assert!(home.store.items(conversation.id).await.unwrap().is_empty());
    assert_eq!(begin(&edited).await, Begun::Running);
    assert_eq!(home.store.waiting(came.id).await.unwrap(), None);
    assert_eq!(begin(&edited).await, Begun::Not);
}

#[tokio::test]
async fn one_message_starts_one_root_turn() {
    let home = Home::new().await;
    let conversation = home.conversation().await;
    let item = user(100, "hello");
    let first = new_turn(home.agent, &conversation, 100);
    let second = new_turn(home.agent, &conversation, 100);
    let mut child = new_turn(home.agent, &conversation, 100);
    child.parent = Some(first.id);
    let begin = async |turn| {
        home.store
            .begin_turn(Opening::new(turn, vec![item.clone()]))
            .await
            .unwrap()
    };
    assert_eq!(begin(first).await, Begun::Running);
    assert_eq!(begin(second).await, Begun::Not);
    assert_eq!(begin(child).await, Begun::Running);
    assert_eq!(
        home.store.items(conversation.id).await.unwrap(),
        [item.clone(), item]
    );
}

#[tokio::test]
async fn a_whole_turn_is_read_back_in_the_order_of_the_calls() {
    let home = Home::new().await;
    let turn = home.turn(100).await;
    let conversation = home.conversation().await.id;
    let calls = answer("looking", &["a", "b"]);
    home.records(turn, &calls).await;
    for id in ["a", "b"] {
        let call = CallId(id.to_owned());
        home.store
            .start_call(turn, &call, AttachedRows::default())
            .await
            .unwrap();
    }
    // The second call ends first.
    for id in ["b", "a"] {
        let given = result(id, id);
        home.store
            .finish_call(turn, &given, AttachedRows::default())
            .await
            .unwrap();
    }
    let end = FinishedTurn {
        answer: Some(answer("done", &[])),
        may_go_on: false,
        first: FirstPart::Sends,
        ..finished(&["done", "and more"])
    };
    let parts = home.store.finish_turn(turn, end).await.unwrap();

    let home = home.reopened().await;
    let items = home.store.items(conversation).await.unwrap();
    let expected = [
        user(100, "please"),
        Item::Assistant(calls),
        Item::ToolResult(result("a", "a")),
        Item::ToolResult(result("b", "b")),
        Item::Assistant(answer("done", &[])),
    ];
    assert_eq!(items, expected);
    assert_eq!(home.store.next_parts(CHANNEL).await.unwrap(), parts);
    assert_eq!(
        parts.iter().map(|part| part.state).collect::<Vec<_>>(),
        [PartState::Sending, PartState::Pending]
    );
    let row = home.store.turn(turn).await.unwrap().unwrap();
    assert_eq!(
        (row.state, row.exit),
        (TurnEnd::Finished, Some(chorus::store::EndReason::Answered))
    );
}

#[tokio::test]
async fn a_call_starts_once_and_only_when_proposed() {
    let home = Home::new().await;
    let turn = home.turn(100).await;
    let call = CallId("a".to_owned());
    let start = async || {
        home.store
            .start_call(turn, &call, AttachedRows::default())
            .await
    };
    assert!(matches!(start().await, Err(StoreError::NotFound(_))));
    home.store
        .record_and_start(
            turn,
            &answer("", &["a"]),
            Default::default(),
            vec![],
            AttachedRows::default(),
        )
        .await
        .unwrap();
    start().await.unwrap();
    assert!(matches!(start().await, Err(StoreError::NotFound(_))));
}

#[tokio::test]
async fn an_answer_and_the_start_of_its_calls_are_stored_together_or_not_at_all() {
    let home = Home::new().await;
    let turn = home.turn(100).await;
    let (a, b) = (CallId("a".to_owned()), CallId("b".to_owned()));
    let record = async |calls: &[&str]| {
        home.store
            .record_and_start(
                turn,
                &answer("", calls),
                Starting {
                    calls: vec![a.clone()],
                    ..Starting::default()
                },
                Vec::new(),
                AttachedRows::default(),
            )
            .await
    };
    let start = async |call: &CallId| {
        home.store
            .start_call(turn, call, AttachedRows::default())
            .await
    };
    assert!(matches!(record(&["b"]).await, Err(StoreError::NotFound(_))));
    assert!(matches!(start(&b).await, Err(StoreError::NotFound(_))));
    record(&["a", "b"]).await.unwrap();
    assert!(matches!(start(&a).await, Err(StoreError::NotFound(_))));
    start(&b).await.unwrap();
}

#[tokio::test]
async fn the_first_decision_of_a_question_stands() {
    let home = Home::new().await;
    let turn = home.turn(100).await;
    let asked = vec![new_question(turn, "a")];
    let id = home.store.open_questions(asked).await.unwrap()[0];
    let decide = async |decision| {
        home.store
            .decide_question(id, decision, Some(UserId(1)), AttachedRows::default())
            .await
            .unwrap()
    };
    assert_eq!(decide(Decision::Deny).await, Settled::Now);
    assert_eq!(
        decide(Decision::Allow).await,
        Settled::Before(Decision::Deny)
    );
}

#[tokio::test]
async fn a_reply_leads_only_where_nothing_older_waits() {
    let home = Home::new().await;
    let at_once = |text| FinishedTurn {
        may_go_on: false,
        first: FirstPart::Sends,
        ..finished(&[text])
    };
    let (first, second) = (home.turn(100).await, home.turn(101).await);
    let one = home.store.finish_turn(first, at_once("one")).await.unwrap();
    assert_eq!(one[0].state, PartState::Sending);
    assert!(one[0].first_try.is_some());
    let two = home.store.finish_turn(second, at_once("two")).await;
    let two = two.unwrap();
    assert_eq!((two[0].state, two[0].first_try), (PartState::Pending, None));

    let sent = home.store.mark_sent(one[0].id, MessageId(900)).await;
    assert!(matches!(sent.unwrap(), NextPart::Next(next) if next.id == two[0].id));
}

#[tokio::test]
async fn parts_go_out_one_after_the_other() {
    let home = Home::new().await;
    let turn = home.turn(100).await;
    home.store.set_preview(turn, MessageId(900)).await.unwrap();
    let parts = home
        .store
        .finish_turn(turn, finished(&["one", "two"]))
        .await
        .unwrap();
    assert!(parts.iter().all(|part| part.edits.is_none()));
    assert!(parts.iter().all(|part| part.nonce.len() == 25));
    assert_ne!(parts[0].nonce, parts[1].nonce);

    home.store.mark_sending(parts[0].id).await.unwrap();
    let sent = home.store.mark_sent(parts[0].id, MessageId(900)).await;
    let NextPart::Next(next) = sent.unwrap() else {
        panic!("part 2 waits");
    };
    assert_eq!((next.id, next.state), (parts[1].id, PartState::Sending));
    let sent = home.store.mark_sent(next.id, MessageId(901)).await;
    assert_eq!(sent.unwrap(), NextPart::Nothing);
    assert!(home.store.mark_sending(next.id).await.is_err());
    assert!(home.store.waiting_channels().await.unwrap().is_empty());
    let conversation = home
        .store
        .conversation_of_message(MessageId(901))
        .await
        .unwrap();
    assert_eq!(conversation.unwrap().agent, home.agent);
}

#[tokio::test]
async fn a_finished_turn_takes_nothing_more() {
    let home = Home::new().await;
    let turn = home.turn(100).await;
    home.store
        .finish_turn(turn, finished(&["done"]))
        .await
        .unwrap();
    home.store.accept(&message(101, "late")).await.unwrap();
    let late = home
        .store
        .hand_over(turn, MessageId(101), user(101, "late"))
        .await;
    assert!(matches!(late, Err(StoreError::NotFound(_))));
    assert_eq!(home.store.unclaimed().await.unwrap().len(), 1);
    assert!(
        home.store
            .finish_turn(turn, finished(&["again"]))
            .await
            .is_err()
    );
}

//! Child turns in the ledger: begun with the call that they answer (C1), ended with its result (C2).

use chorus::domain::{CallId, Item, TurnId};
use chorus::store::{
    AttachedRows, ChildKind, ChildOf, EndReason, FinishedTurn, NewChild, NewTurn, Opening,
    Starting, StoreError, ToldOfEnd, TurnEnd, TurnRow,
};

use super::{CHANNEL, Home, answer, finished, new_turn, result, user};

/// A child of `parent` that answers its call `call`.
fn child(parent: &TurnRow, call: &str) -> NewChild {
    NewChild {
        seed: None,
        turn: NewTurn {
            id: TurnId::random(),
            trigger: None,
            parent: Some(parent.begun.id),
            reply_to: None,
            path: format!("{}/reviewer", parent.begun.path),
            child: Some(ChildOf {
                kind: ChildKind::SubAgent,
                run: parent.begun.run(),
                call: Some(CallId(call.to_owned())),
                role: "reviewer".to_owned(),
                role_sha256: "0".repeat(64),
                title: "check the tests".to_owned(),
            }),
            ..parent.begun.clone()
        },
        item: user(1, "Check the tests."),
        goes_on: None,
    }
}

impl Home {
    async fn row(&self, turn: TurnId) -> TurnRow {
        self.store.turn(turn).await.unwrap().unwrap()
    }

    /// Stores an answer of `parent` with one call, which a child answers.
    async fn begins(&self, parent: TurnId, call: &str) -> NewChild {
        let new = child(&self.row(parent).await, call);
        let starting = Starting {
            calls: vec![CallId(call.to_owned())],
            children: vec![new.clone()],
        };
        let answer = answer("", &[call]);
        let recorded = self
            .store
            .record_and_start(
                parent,
                &answer,
                starting,
                Vec::new(),
                AttachedRows::default(),
            )
            .await
            .unwrap();
        let row = self.row(new.turn.id).await;
        assert_eq!(recorded.children, [row.begun.conversation]);
        new
    }
}

#[tokio::test]
async fn a_child_has_a_conversation_of_its_own_that_is_never_open() {
    let home = Home::new().await;
    let root = home.turn(100).await;
    let before = home.store.conversations(home.agent).await.unwrap();
    let new = home.begins(root, "a").await;
    let row = home.row(new.turn.id).await;
    assert_ne!(row.begun.conversation, before[0].id);
    assert_eq!(
        (
            row.begun.parent,
            row.origin,
            row.begun.run(),
            row.begun.path.as_str()
        ),
        (Some(root), root, root, "lab/reviewer")
    );
    assert_eq!(row.begun.child, new.turn.child);
    assert_eq!(
        home.store.items(row.begun.conversation).await.unwrap(),
        [user(1, "Check the tests.")]
    );
    assert_eq!(home.store.conversations(home.agent).await.unwrap().len(), 1);
    let grandchild = home.begins(new.turn.id, "a").await;
    let row = home.row(grandchild.turn.id).await;
    assert_eq!(
        (row.begun.parent, row.begun.run(), row.begun.path.as_str()),
        (Some(new.turn.id), root, "lab/reviewer/reviewer")
    );
    let run = home.store.children_of_run(root).await.unwrap();
    let ids: Vec<TurnId> = run.iter().map(|row| row.begun.id).collect();
    assert_eq!(ids, [new.turn.id, grandchild.turn.id]);
}

#[tokio::test]
async fn a_child_and_the_call_it_answers_end_together_or_not_at_all() {
    let home = Home::new().await;
    let root = home.turn(100).await;
    let conversation = home.conversation().await.id;
    let new = home.begins(root, "a").await;
    let end = FinishedTurn {
        answer: Some(answer("All well.", &[])),
        ..finished(&[])
    };
    let finish = async |call: &str| {
        let told = result(call, "All well.");
        home.store
            .finish_child(new.turn.id, &end, root, &told, ToldOfEnd::default())
            .await
    };
    assert!(matches!(finish("b").await, Err(StoreError::NotFound(_))));
    assert_eq!(home.row(new.turn.id).await.state, TurnEnd::Running);
    finish("a").await.unwrap();
    let row = home.row(new.turn.id).await;
    assert_eq!(
        (row.state, row.exit),
        (TurnEnd::Finished, Some(EndReason::Answered))
    );
    let items = home.store.items(conversation).await.unwrap();
    assert_eq!(
        items.last(),
        Some(&Item::ToolResult(result("a", "All well.")))
    );
    assert!(matches!(finish("a").await, Err(StoreError::NotFound(_))));
}

#[tokio::test]
async fn no_child_begins_for_a_call_that_is_not_proposed() {
    let home = Home::new().await;
    let root = home.turn(100).await;
    let new = child(&home.row(root).await, "a");
    let call = CallId("a".to_owned());
    let begun = home
        .store
        .start_child(root, &call, &new, AttachedRows::default())
        .await;
    assert!(matches!(begun, Err(StoreError::NotFound(_))));
    assert!(home.store.turn(new.turn.id).await.unwrap().is_none());
}

#[tokio::test]
async fn what_a_compaction_of_a_child_drops_stays_in_the_ledger_and_is_not_told() {
    let home = Home::new().await;
    let root = home.turn(100).await;
    let new = home.begins(root, "a").await;
    let conversation = home.row(new.turn.id).await.begun.conversation;
    let shorter = [user(2, "A summary.")];
    home.store.drop_items(conversation, &shorter).await.unwrap();
    assert_eq!(home.store.items(conversation).await.unwrap(), shorter);
    let row = home
        .store
        .conversation(conversation)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(row.items, 1);
}

#[tokio::test]
async fn every_turn_of_a_chain_names_the_first_as_its_origin() {
    let home = Home::new().await;
    let first = home.turn(100).await;
    let mut last = first;
    for _ in 0..3 {
        let next = NewTurn {
            parent: Some(last),
            trigger: None,
            ..new_turn(home.agent, &home.conversation().await, 0)
        };
        last = next.id;
        home.store
            .begin_turn(Opening::new(next, Vec::new()))
            .await
            .unwrap();
        let row = home.row(last).await;
        assert_eq!((row.origin, row.begun.run()), (first, last));
    }
    assert_eq!(home.row(first).await.begun.channel, CHANNEL);
}

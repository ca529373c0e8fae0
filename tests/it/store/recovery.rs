//! Recovery at start: what a broken-off turn leaves is closed once, and nothing that started runs again.

use std::future::ready;

use chorus::agent::sessions::SessionManager;
use chorus::domain::{AgentId, CallId, Item, MessageId, SaveTrigger, TurnId};
use chorus::llm::history;
use chorus::manager::recovery::{NOT_STARTED, Recovered, STARTED, recover, save_interrupted};
use chorus::store::{
    AttachedRows, Decision, FinishedTurn, FirstPart, PartState, Resend, Settled, TurnEnd,
};
use chrono::TimeDelta;

use super::{CHANNEL, Home, answer, finished, message, new_question, result, user};

async fn recovered(home: &Home) -> Recovered {
    recover(&home.store, ready(())).await.unwrap()
}

impl Home {
    /// Where the agent's session files would be.
    fn manager(&self, agent: AgentId) -> Option<SessionManager> {
        let folder = self.folder.path().join("agents/lab");
        std::fs::create_dir_all(&folder).unwrap();
        (agent == self.agent)
            .then(|| SessionManager::new(agent, "lab", &folder, self.store.clone()))
    }

    /// What is in the agent's conversation.
    async fn items(&self) -> Vec<Item> {
        let conversation = self.conversation().await.id;
        self.store.items(conversation).await.unwrap()
    }

    /// A turn that broke off with one call done, one started, one waiting for a person and one proposed.
    async fn broken_turn(&self) -> TurnId {
        let turn = self.turn(100).await;
        let answer = answer("on it", &["done", "started", "asked", "proposed"]);
        self.store
            .record_and_start(
                turn,
                &answer,
                Default::default(),
                vec![],
                AttachedRows::default(),
            )
            .await
            .unwrap();
        for call in ["done", "started"] {
            let call = CallId(call.to_owned());
            self.store
                .start_call(turn, &call, AttachedRows::default())
                .await
                .unwrap();
        }
        let given = result("done", "fine");
        self.store
            .finish_call(turn, &given, AttachedRows::default())
            .await
            .unwrap();
        turn
    }

    async fn question(&self, turn: TurnId) -> i64 {
        let asked = vec![new_question(turn, "asked")];
        let id = self.store.open_questions(asked).await.unwrap()[0];
        self.store
            .set_question_post(&[id], MessageId(901))
            .await
            .unwrap();
        id
    }
}

#[tokio::test]
async fn after_a_stop_in_order_there_is_nothing_to_recover() {
    let home = Home::new().await;
    let turn = home.turn(100).await;
    let conversation = home.conversation().await.id;
    let parts = home
        .store
        .finish_turn(turn, finished(&["done"]))
        .await
        .unwrap();
    home.store
        .mark_sent(parts[0].id, MessageId(900))
        .await
        .unwrap();
    home.store.close_conversation(conversation).await.unwrap();
    assert_eq!(recovered(&home).await, Recovered::default());
}

#[tokio::test]
async fn open_calls_are_closed_with_what_is_known_and_the_history_is_valid() {
    let home = Home::new().await;
    let turn = home.broken_turn().await;
    let found = recovered(&home).await;
    assert_eq!(found.interrupted, 1);
    let items = home.items().await;
    assert!(history::is_valid(&items));
    let results: Vec<(&str, &str)> = items
        .iter()
        .filter_map(|item| match item {
            Item::ToolResult(result) => Some((result.call_id.0.as_str(), result.content.as_str())),
            Item::User(_) | Item::Assistant(_) => None,
        })
        .collect();
    assert_eq!(
        results,
        [
            ("done", "fine"),
            ("started", STARTED),
            ("asked", NOT_STARTED),
            ("proposed", NOT_STARTED)
        ]
    );
    assert_eq!(
        STARTED,
        "started, then the daemon stopped; may have partly run, check before repeating"
    );
    let row = home.store.turn(turn).await.unwrap().unwrap();
    assert_eq!(
        (row.state, row.exit),
        (
            TurnEnd::Interrupted,
            Some(chorus::store::EndReason::Interrupted)
        )
    );
    // Nobody can start any of them any more.
    for call in ["started", "asked", "proposed"] {
        let call = CallId(call.to_owned());
        assert!(
            home.store
                .start_call(turn, &call, AttachedRows::default())
                .await
                .is_err()
        );
    }
}

#[tokio::test]
async fn a_channel_is_told_once_and_what_promised_something_is_put_right() {
    let home = Home::new().await;
    let turn = home.broken_turn().await;
    let question = home.question(turn).await;
    home.store.set_preview(turn, MessageId(902)).await.unwrap();
    home.store
        .set_status_post(turn, MessageId(903))
        .await
        .unwrap();
    recovered(&home).await;
    let told = home.store.next_parts(CHANNEL).await.unwrap();
    let told: Vec<(Option<u64>, Option<u64>, &str)> = told
        .iter()
        .map(|part| {
            let edits = part.edits.map(|id| id.0);
            (
                edits,
                part.body.reply_to.map(|id| id.0),
                part.body.content.as_str(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (
                Some(901),
                None,
                "Expired: I was restarted before anyone answered. Nothing was run."
            ),
            (Some(903), None, "Interrupted: I was restarted."),
        ]
    );
    let late = home
        .store
        .decide_question(question, Decision::Allow, None, AttachedRows::default());
    assert_eq!(late.await.unwrap(), Settled::Before(Decision::Expired));
}

#[tokio::test]
async fn recovering_again_changes_nothing_and_saves_one_session() {
    let home = Home::new().await;
    home.broken_turn().await;
    let first = recovered(&home).await;
    let items = home.items().await;
    let again = recovered(&home).await;
    assert_eq!(
        again,
        Recovered {
            interrupted: 0,
            ..first
        }
    );
    assert_eq!(home.items().await, items);

    for _ in 0..2 {
        let failed = save_interrupted(&home.store, |agent| home.manager(agent))
            .await
            .unwrap();
        assert!(failed.is_empty(), "{failed:?}");
    }
    let manager = home.manager(home.agent).unwrap();
    let list = manager.list_sessions(0, 10).await.unwrap();
    assert_eq!(list.total, 1);
    let (meta, _) = &list.sessions[0];
    assert_eq!(
        (meta.trigger, meta.message_count),
        (SaveTrigger::CrashRecovery, items.len() as u64)
    );
    assert_eq!(
        manager.restore(&meta.session_id).await.unwrap().items,
        items
    );
    // Kept as the context, covered by the session, and not due again.
    let kept = recovered(&home).await.contexts;
    assert_eq!(kept.len(), 1);
    assert!(!kept[0].is_unsaved());
    assert_eq!(kept[0].crash_session, None);
}

#[tokio::test]
async fn a_save_that_a_crash_cut_short_before_its_row_is_not_made_twice() {
    let home = Home::new().await;
    home.broken_turn().await;
    recovered(&home).await;
    let due = home.conversation().await;
    save_interrupted(&home.store, |agent| home.manager(agent))
        .await
        .unwrap();
    // As after a crash between the file and its row: the file is there, the mark too, the row is not.
    let other = Home::new().await;
    other
        .store
        .insert_agent(super::agent_row(home.agent, "twin", CHANNEL))
        .await
        .unwrap();
    let twin = Home {
        agent: home.agent,
        ..other
    };
    twin.broken_turn().await;
    recovered(&twin).await;
    let id = twin.conversation().await.crash_session.unwrap();
    let from = home.folder.path().join("agents/lab/sessions");
    let to = twin.folder.path().join("agents/lab/sessions");
    std::fs::create_dir_all(&to).unwrap();
    for entry in std::fs::read_dir(&from).unwrap() {
        let entry = entry.unwrap();
        let text = std::fs::read_to_string(entry.path()).unwrap();
        let text = text.replace(&due.crash_session.unwrap().to_string(), &id.to_string());
        std::fs::write(to.join(entry.file_name()), text).unwrap();
    }
    std::fs::write(to.join(".saving-leftover"), "{").unwrap();

    save_interrupted(&twin.store, |agent| twin.manager(agent))
        .await
        .unwrap();
    assert_eq!(std::fs::read_dir(&to).unwrap().count(), 1);
    assert!(twin.store.session(id).await.unwrap().is_some());
    assert_eq!(twin.conversation().await.crash_session, None);
}

#[tokio::test]
async fn a_message_that_no_turn_took_is_handed_out_again() {
    let home = Home::new().await;
    home.turn(100).await;
    let waiting = message(101, "and this");
    home.store.accept(&waiting).await.unwrap();
    assert_eq!(recovered(&home).await.unclaimed, [waiting]);
}

#[tokio::test]
async fn half_sent_parts_are_told_apart_by_age_and_kind() {
    let home = Home::new().await;
    let turn = home.turn(100).await;
    let end = FinishedTurn {
        may_go_on: false,
        first: FirstPart::Sends,
        ..finished(&["one", "two", "three"])
    };
    let parts = home.store.finish_turn(turn, end).await.unwrap();
    let shown = MessageId(900);
    home.store.take_place_of(parts[0].id, shown).await.unwrap();
    home.store.mark_sending(parts[1].id).await.unwrap();
    let found = recovered(&home).await;
    assert_eq!(found.waiting, [CHANNEL]);
    assert_eq!(found.interrupted, 0);
    let [edit, post] = found.doubts.as_slice() else {
        panic!("{:?}", found.doubts);
    };
    let after = |seconds| post.first_try.unwrap() + TimeDelta::seconds(seconds);
    assert_eq!(post.resend(after(59)), Resend::Now);
    assert_eq!(post.resend(after(60)), Resend::LookFirst);
    assert_eq!(post.resend(after(-60)), Resend::LookFirst);
    assert_eq!(edit.resend(after(6000)), Resend::Now);
    assert_eq!(parts[2].state, PartState::Pending);
}

#[tokio::test]
async fn a_message_handed_to_the_broken_turn_stays_in_its_conversation() {
    let home = Home::new().await;
    let turn = home.broken_turn().await;
    home.store.accept(&message(101, "also")).await.unwrap();
    home.store
        .hand_over(turn, MessageId(101), user(101, "also"))
        .await
        .unwrap();
    let found = recovered(&home).await;
    assert!(found.unclaimed.is_empty());
    let items = home.items().await;
    assert!(history::is_valid(&items));
    assert!(items.contains(&user(101, "also")));
}

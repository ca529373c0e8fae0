//! Where an answer stands and what of a turn makes a sound: the answer is the last message of its turn and rings; what the
//! model said before its calls stays where it was said, quietly; whatever showed the work is gone.

use std::time::Duration;

use chorus_playground::model::wire::{Block, Reply};
use chorus_playground::{Effect, Fault, Message};
use serde_json::json;

use crate::world::scenes::WRITES;
use crate::world::{Setup, World, is_under_way, run_test, run_test_with};

/// Flag of a message that makes no sound.
const SILENT: u64 = 1 << 12;

/// Words before a call, worth keeping.
const LEAD: &str = "I will first write down that I asked, so that everybody can see it later.";

const ANSWER: &str = "It is written down, and everybody can see it.";

/// The bot's messages in `#lab` that all can see, but for the welcome.
fn own(world: &World) -> Vec<Message> {
    let bot = world.discord.bot();
    let all = world.messages("#lab").into_iter().skip(1);
    all.filter(|one| one.author == bot && !one.is_ephemeral())
        .collect()
}

/// The model says something and calls a tool that people are asked about.
fn says_and_asks(world: &World, lead: &str) {
    let call = Block::Call(
        "toolu_lead".to_owned(),
        "bash".to_owned(),
        json!({"command": WRITES}),
    );
    let said = Block::Text(lead.to_owned());
    world.model.replies(Reply::new(vec![said, call]));
}

/// Waits until nothing but the answer is left of a turn's work.
async fn is_tidy(world: &World, answer: &str) -> Vec<Message> {
    world
        .waits("a tidy channel", |world| {
            let own = own(world);
            let is_quiet = |one: &Message| !is_under_way(one) && !one.content.ends_with('▌');
            let is_last = own.last()?.content.starts_with(answer);
            (is_last && own.iter().all(is_quiet)).then_some(own)
        })
        .await
}

/// Requests about messages, typing and presses, from `since` on.
fn calls(world: &World, since: usize) -> Vec<String> {
    let requests = world.discord.requests();
    let all = requests.iter().skip(since);
    all.map(|one| format!("{} {}", one.method, one.path))
        .collect()
}

/// The fewest requests of three turns: a machine that stops for seconds makes more.
async fn fewest(world: &mut World, turn: impl AsyncFn(&mut World, usize)) -> Vec<String> {
    let mut fewest: Option<Vec<String>> = None;
    for number in 1..=3 {
        let since = world.discord.requests().len();
        turn(world, number).await;
        let calls = calls(world, since);
        if fewest
            .as_ref()
            .is_none_or(|so_far| calls.len() < so_far.len())
        {
            fewest = Some(calls);
        }
    }
    fewest.unwrap()
}

/// The time that the model takes.
async fn model_works() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn a_plain_turn_of_a_second_makes_three_requests_at_most() {
    run_test(async |world| {
        let calls = fewest(world, async |world, number| {
            let answer = format!("Answer {number}.");
            let asked = world.model.requests().len();
            let thought = world.model.thinks_then(&answer);
            world.ann.says("#lab", "think").await;
            world.model.was_asked(asked + 1).await;
            model_works().await;
            thought.ends();
            is_tidy(world, &answer).await;
        });
        let calls = calls.await;
        assert!(calls.len() <= 3, "{calls:#?}");
    })
    .await;
}

#[tokio::test]
async fn a_turn_with_one_approved_call_makes_six_requests_at_most() {
    run_test(async |world| {
        let calls = fewest(world, async |world, number| {
            let answer = format!("Answer {number}.");
            says_and_asks(world, LEAD);
            let thought = world.model.thinks_then(&answer);
            let asked = world.model.requests().len();
            world.ann.says("#lab", "write it").await;
            world.question("#lab").await;
            // People take their time.
            tokio::time::sleep(Duration::from_millis(2_500)).await;
            world.ann.clicks("#lab", "Allow").await;
            world.model.was_asked(asked + 2).await;
            model_works().await;
            thought.ends();
            is_tidy(world, &answer).await;
        });
        let calls = calls.await;
        assert!(calls.len() <= 6, "{calls:#?}");
    })
    .await;
}

#[tokio::test]
async fn the_answer_rings_below_all_that_was_said_before() {
    run_test(async |world| {
        says_and_asks(world, LEAD);
        world.model.answers(ANSWER);
        let asked = world.ann.says("#lab", "write it").await;
        world.ann.clicks("#lab", "Allow").await;
        let own = is_tidy(world, ANSWER).await;
        let [lead, question, answer] = &own[..] else {
            panic!("{own:#?}");
        };
        assert_eq!((lead.content.as_str(), lead.flags & SILENT), (LEAD, SILENT));
        assert_eq!(lead.reply_to, None);
        assert_eq!((question.embeds.len(), question.flags & SILENT), (1, 0));
        assert_eq!((answer.reply_to, answer.flags & SILENT), (Some(asked), 0));
        let (text, footer) = answer.content.split_once('\n').unwrap();
        assert_eq!(text, ANSWER);
        assert!(
            footer.starts_with("-# changed 1 file (+1 −0) · ran 1 command · 2 steps · "),
            "{footer}"
        );
        assert_eq!(answer.pings, Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn words_that_say_no_more_than_the_call_are_not_kept() {
    run_test(async |world| {
        says_and_asks(world, "Let me look.");
        world.model.answers(ANSWER);
        world.ann.says("#lab", "write it").await;
        world.ann.clicks("#lab", "Allow").await;
        let own = is_tidy(world, ANSWER).await;
        assert_eq!(own.len(), 2, "{own:#?}");
    })
    .await;
}

#[tokio::test]
async fn words_that_were_seen_to_grow_become_the_words_that_stay() {
    run_test(async |world| {
        let call = json!({"command": WRITES});
        let lead = "First, and before anything else, I write down that somebody has asked.";
        let stream = world.model.streams_and_calls(lead, "bash", call);
        world.model.answers(ANSWER);
        world.ann.says("#lab", "write it").await;
        stream.lets(5);
        let preview = world
            .waits("a preview", |world| {
                own(world)
                    .into_iter()
                    .find(|one| one.content.ends_with('▌'))
            })
            .await;
        assert_eq!(preview.flags & SILENT, SILENT);
        stream.ends();
        world.question("#lab").await;
        let under_question = own(world);
        let words = under_question.iter().find(|one| one.id == preview.id);
        assert_eq!(words.map(|one| one.content.as_str()), Some(lead));
        world.ann.clicks("#lab", "Allow").await;
        let own = is_tidy(world, ANSWER).await;
        let said = own.iter().filter(|one| one.content == lead);
        assert_eq!(said.count(), 1, "{own:#?}");
    })
    .await;
}

#[tokio::test]
async fn while_a_question_is_open_its_message_is_the_status() {
    run_test(async |world| {
        let call = json!({"command": WRITES});
        let stream = world.model.streams_and_calls("Hm.", "bash", call);
        world.model.answers(ANSWER);
        world.ann.says("#lab", "write it").await;
        let is_status = |one: &&Message| {
            let first = one.buttons().into_iter().next();
            first.is_some_and(|button| button.label == "Stop")
        };
        world
            .waits("the status", |world| {
                own(world).iter().find(is_status).map(drop)
            })
            .await;
        stream.ends();
        let question = world.question("#lab").await;
        let labels: Vec<String> = question
            .buttons()
            .into_iter()
            .map(|one| one.label)
            .collect();
        assert!(
            labels.ends_with(&["Stop".to_owned(), "Abort".to_owned()]),
            "{labels:?}"
        );
        world
            .waits("the status to go", |world| {
                own(world).iter().all(|one| !is_status(&one)).then_some(())
            })
            .await;
        world.ann.clicks("#lab", "Allow").await;
        is_tidy(world, ANSWER).await;
    })
    .await;
}

#[tokio::test]
async fn who_waited_long_is_mentioned_and_nobody_else() {
    run_test(async |world| {
        let (ann, bob) = (world.ann.id(), world.bob.id());
        let set = "/agent config name:lab key:notify_after value:1s";
        world.ann.asks(set, "#lab").await;
        let thought = world
            .model
            .thinks_then(&format!("@everyone, <@{bob}>: it is done."));
        world.ann.says("#lab", "work").await;
        world.model.was_asked(1).await;
        model_works().await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        thought.ends();
        let shown = world.sees("#lab", "it is done.").await;
        let answer = own(world).pop().unwrap();
        assert_eq!(answer.pings, ["ann"], "{shown}");
        let footer = answer.content.lines().last().unwrap_or_default();
        assert!(footer.starts_with(&format!("-# <@{ann}>")), "{footer}");

        world
            .ann
            .asks("/agent config name:lab key:notify_after value:0", "#lab")
            .await;
        let thought = world.model.thinks_then("Done again.");
        world.ann.says("#lab", "work").await;
        world.model.was_asked(2).await;
        model_works().await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        thought.ends();
        world.sees("#lab", "Done again.").await;
        let answer = own(world).pop().unwrap();
        assert_eq!(answer.pings, Vec::<String>::new());
    })
    .await;
}

/// A turn with words, a question and an answer, while requests fare like this.
async fn holds_under(effect: Effect, times: usize) {
    let setup = Setup {
        config: json!({"approval_timeout": 600}),
        ..Setup::default()
    };
    run_test_with(setup, async |world| {
        let lab = format!("/channels/{}/messages", world.channel("#lab"));
        for (method, path) in [
            ("POST", lab.clone()),
            ("PATCH", lab.clone()),
            ("DELETE", lab),
        ] {
            world.discord.order(Fault {
                method,
                path,
                times,
                effect,
            });
        }
        let call = json!({"command": WRITES});
        let stream = world.model.streams_and_calls(LEAD, "bash", call);
        world.ann.says("#lab", "write it").await;
        stream.lets(6);
        world
            .waits("a preview", |world| {
                own(world)
                    .iter()
                    .any(|one| one.content.ends_with('▌'))
                    .then_some(())
            })
            .await;
        let second = world.model.streams(ANSWER);
        stream.ends();
        world.ann.clicks("#lab", "Allow").await;
        second.lets(5);
        world.model.was_asked(2).await;
        world
            .waits("the status or the preview of the answer", |world| {
                own(world)
                    .iter()
                    .any(|one| one.content.ends_with('▌') || one.content.contains("step 2"))
                    .then_some(())
            })
            .await;
        second.ends();
        let own = is_tidy(world, ANSWER).await;
        let told: Vec<&str> = own.iter().map(|one| one.content.as_str()).collect();
        assert_eq!(own.len(), 3, "{told:#?}");
        assert_eq!(told[0], LEAD, "{told:#?}");
        assert_eq!(own[1].embeds.len(), 1, "{told:#?}");
        assert_eq!(own[2].flags & SILENT, 0, "{told:#?}");
    })
    .await;
}

#[tokio::test]
async fn with_a_line_of_300_milliseconds_nothing_is_doubled_or_out_of_order() {
    holds_under(Effect::Late(Duration::from_millis(300)), usize::MAX).await;
}

#[tokio::test]
async fn with_a_line_of_three_seconds_nothing_is_doubled_or_out_of_order() {
    holds_under(Effect::Late(Duration::from_secs(3)), usize::MAX).await;
}

#[tokio::test]
async fn with_lost_answers_nothing_is_doubled_or_out_of_order() {
    holds_under(Effect::DropAfter, 2).await;
}

#[tokio::test]
async fn a_footer_that_does_not_fit_takes_words_along() {
    run_test(async |world| {
        let words = "word ".repeat(399);
        let looks = json!({"pattern": "*.none"});
        world.model.calls_tool("glob", looks);
        world.model.answers(&words);
        world.ann.says("#lab", "many words").await;
        world.sees("#lab", "-# 2 steps").await;
        let own = own(world);
        let together: String = own.iter().map(|one| format!("{} ", one.content)).collect();
        assert_eq!(together.matches("word").count(), 399);
        let last = own.last().unwrap();
        assert!(last.content.starts_with("word"), "{}", last.content);
        assert!(own.iter().all(|one| one.content.chars().count() <= 2_000));
    })
    .await;
}

#[tokio::test]
async fn a_footer_is_never_taken_for_code() {
    run_test(async |world| {
        let looks = json!({"pattern": "*.none"});
        world.model.calls_tool("glob", looks);
        world.model.answers("```sh\nls");
        world.ann.says("#lab", "code").await;
        let shown = world.sees("#lab", "-# 2 steps").await;
        assert!(shown.contains("ls\n    ```\n    -# 2 steps"), "{shown}");
    })
    .await;
}

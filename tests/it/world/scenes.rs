//! What happens at the beginning of many a story.

use chorus_playground::{Answer, Message};
use serde_json::json;

use super::{Actor, World};

/// The command of [`World::wants_to_write`].
pub(crate) const WRITES: &str = "echo asked > asked.txt";

impl World {
    /// Ann writes in `#lab`, and the model answers.
    pub(crate) async fn exchange(&self, said: &str, answer: &str) {
        self.model.answers(answer);
        self.ann.says("#lab", said).await;
        self.sees("#lab", answer).await;
    }

    /// Has the agent want to run a command for somebody; once that is settled, the model says `then`.
    pub(crate) async fn wants_to_write(&self, who: &Actor, then: &str) {
        let call = json!({"command": WRITES});
        self.model.calls_tool("bash", call).answers(then);
        who.says("#lab", "write it").await;
    }

    /// The same, up to the question whether it may.
    pub(crate) async fn asks_to_write(&self, who: &Actor, then: &str) -> Message {
        self.wants_to_write(who, then).await;
        self.question("#lab").await
    }

    /// The same, and somebody allows it.
    pub(crate) async fn writes_when_allowed(&self, who: &Actor) {
        self.asks_to_write(who, "Written.").await;
        who.clicks("#lab", "Allow").await;
        self.sees("#lab", "Written.").await;
    }

    /// Ann confirms what she was asked last, and waits until it was done.
    pub(crate) async fn confirms(&self) {
        self.ann.clicks("#lab", "Confirm").await;
        self.waits("what was confirmed to be done", |world| {
            let private = world.discord.private_messages(world.ann.id());
            private.last()?.buttons().is_empty().then_some(())
        })
        .await;
    }

    /// Whether that command has run.
    pub(crate) fn was_written(&self) -> bool {
        self.workspace("lab").join("asked.txt").exists()
    }

    /// Makes an agent, and waits for the welcome in its channel and for the command's answer: a fault that is ordered next is
    /// for what comes after.
    pub(crate) async fn makes_agent(&self, name: &str) {
        let command = format!("/agent init name:{name}");
        let run = self.ann.runs(&command, "#general").await;
        let channel = format!("#{name}");
        self.waits(
            &format!("the channel {channel} with its welcome, and an answer"),
            |world| {
                let channel = world.discord.channel(&channel)?;
                let is_welcomed = !world.discord.messages(channel).is_empty();
                let is_answered = matches!(world.discord.answer_to(run), Answer::Message(_));
                (is_welcomed && is_answered).then_some(())
            },
        )
        .await;
    }
}

//! Things that are done only once: an interaction, which the gateway may repeat, and a button for one press.
//!
//! Both are remembered while the daemon runs. After a restart no interaction is repeated, and a used button has been
//! removed from its message.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::domain::{MessageId, Person, UserId};
use crate::text::escape;

use super::Refusal;

/// Most interactions and buttons that are remembered: repetitions and second presses come within seconds.
const REMEMBERED: usize = 512;

/// The latest interactions, and the messages with pressed buttons.
#[derive(Debug, Default)]
pub(in crate::discord) struct Once {
    interactions: Mutex<VecDeque<u64>>,
    pressed: Mutex<VecDeque<(MessageId, UserId, String)>>,
}

/// A press that is being served. The button can be pressed again if this is dropped without [`Press::was_served`].
pub(in crate::discord) struct Press<'a> {
    once: &'a Once,
    message: MessageId,
    is_served: bool,
}

impl Once {
    /// Returns whether this interaction comes for the first time.
    pub(in crate::discord) fn is_new(&self, interaction: u64) -> bool {
        let mut seen = self.interactions.lock();
        if seen.contains(&interaction) {
            return false;
        }
        push(&mut seen, interaction);
        true
    }

    /// Begins to serve the press of a button that works only once, on this message. Refuses a second press; `instead`
    /// is the sentence that tells people what to do.
    pub(in crate::discord) fn press(
        &self,
        message: MessageId,
        by: &Person,
        instead: &str,
    ) -> Result<Press<'_>, Refusal> {
        let mut pressed = self.pressed.lock();
        if let Some((_, first, name)) = pressed.iter().find(|(id, ..)| *id == message) {
            let who = if *first == by.id {
                "You have".to_owned()
            } else {
                format!("{} has", escape::name(name))
            };
            return Err(Refusal(format!(
                "{who} already used this button, so nothing was done again. {instead}"
            )));
        }
        push(&mut pressed, (message, by.id, by.name.clone()));
        Ok(Press {
            once: self,
            message,
            is_served: false,
        })
    }
}

impl Press<'_> {
    /// Records that the button's action was done: it cannot be pressed again.
    pub(in crate::discord) fn was_served(mut self) {
        self.is_served = true;
    }
}

impl Drop for Press<'_> {
    fn drop(&mut self) {
        if !self.is_served {
            let mut pressed = self.once.pressed.lock();
            pressed.retain(|(message, ..)| *message != self.message);
        }
    }
}

fn push<T>(latest: &mut VecDeque<T>, one: T) {
    if latest.len() >= REMEMBERED {
        latest.pop_front();
    }
    latest.push_back(one);
}

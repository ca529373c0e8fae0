//! Which users a message notifies.

use crate::guild::Draft;
use crate::wire;
use crate::world::World;
use chorus_base::discord_ids::UserId;

/// Returns the users that a draft notifies, under its `allowed_mentions`.
pub(super) fn of(world: &World, draft: &Draft, replied: Option<UserId>) -> Vec<String> {
    let allowed = draft.allowed_mentions.as_ref();
    let parses = |what: &str| {
        allowed.is_none_or(|allowed| {
            allowed["parse"]
                .as_array()
                .is_some_and(|list| list.iter().any(|one| one == what))
        })
    };
    let listed = |id: UserId| {
        allowed
            .and_then(|allowed| allowed["users"].as_array())
            .is_some_and(|list| {
                list.iter()
                    .any(|one| one.as_str() == Some(id.to_string().as_str()))
            })
    };
    let mut pinged = Vec::new();
    let everyone = draft.content.contains("@everyone") || draft.content.contains("@here");
    if everyone && parses("everyone") {
        pinged.push("@everyone".to_owned());
    }
    for user in wire::mentioned(&draft.content) {
        if parses("users") || listed(user) {
            pinged.push(world.name_of(user));
        }
    }
    let pings_reply = allowed.is_none_or(|allowed| allowed["replied_user"] == true);
    if let Some(user) = replied.filter(|_| pings_reply) {
        pinged.push(world.name_of(user));
    }
    pinged.dedup();
    pinged
}

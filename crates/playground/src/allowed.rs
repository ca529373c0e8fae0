//! The permissions of a person in a server and in a channel: roles and overwrites combined as Discord does.

use super::guild::{Channel, Guild, OverwriteOf};
use super::rights::Rights;
use chorus_base::discord_ids::UserId;

/// Returns the permissions of `user` in the whole server.
pub(crate) fn in_guild(guild: &Guild, user: UserId) -> Rights {
    let Some(member) = guild.members.get(&user) else {
        return Rights::default();
    };
    if guild.owner == user {
        return Rights::ALL;
    }
    let sum = guild
        .roles
        .iter()
        .filter(|role| role.id.0 == guild.id.0 || member.roles.contains(&role.id))
        .fold(Rights::default(), |sum, role| sum | role.rights);
    if sum.contains(Rights::ADMINISTRATOR) {
        return Rights::ALL;
    }
    sum
}

/// Returns the permissions of `user` in `channel`; for a thread, pass the channel above it.
pub(crate) fn in_channel(guild: &Guild, channel: &Channel, user: UserId) -> Rights {
    let base = in_guild(guild, user);
    if base.contains(Rights::ADMINISTRATOR) {
        return base;
    }
    let roles = guild.members.get(&user).map(|member| &member.roles);
    let mut rights = base.0;
    // The role @everyone has the id of its server.
    let for_everyone = |of: &OverwriteOf| matches!(of, OverwriteOf::Role(id) if id.0 == guild.id.0);
    let for_roles = |of: &OverwriteOf| matches!((of, roles), (OverwriteOf::Role(id), Some(roles)) if roles.contains(id));
    let for_member = |of: &OverwriteOf| *of == OverwriteOf::Member(user);
    for stage in [
        &for_everyone as &dyn Fn(&OverwriteOf) -> bool,
        &for_roles,
        &for_member,
    ] {
        let matching = || {
            channel
                .overwrites
                .iter()
                .filter(|overwrite| stage(&overwrite.of))
        };
        rights &= !matching().fold(0, |sum, overwrite| sum | overwrite.deny.0);
        rights |= matching().fold(0, |sum, overwrite| sum | overwrite.allow.0);
    }
    if rights & Rights::VIEW_CHANNEL.0 == 0 {
        return Rights::default();
    }
    Rights(rights)
}

//! The identity of people: members of a server as [`Person`], with their roles and rights and the channels they see;
//! the operator, and the bot.

pub mod access;
pub(super) mod identity;
pub(super) mod operator;

use serenity::all::{Guild, GuildChannel, Member, PermissionOverwriteType, Permissions};

use crate::domain::{Person, RoleId, UserId};

/// Returns the member with `roles` in `guild`, with the resulting rights.
pub fn person(guild: &Guild, id: u64, name: &str, roles: &[serenity::all::RoleId]) -> Person {
    let rights = rights(guild, id, roles);
    Person {
        id: UserId(id),
        name: name.to_owned(),
        roles: roles.iter().map(|role| RoleId(role.get())).collect(),
        is_administrator: rights.administrator(),
        may_manage_server: rights.administrator() || rights.manage_guild(),
    }
}

/// Returns a member as a person.
pub fn person_of(guild: &Guild, member: &Member) -> Person {
    person(
        guild,
        member.user.id.get(),
        member.display_name(),
        &member.roles,
    )
}

/// Returns a person with the rights that Discord computed for an interaction, if the cache does not have the server.
pub fn person_with(member: &Member, rights: Permissions) -> Person {
    Person {
        id: UserId(member.user.id.get()),
        name: member.display_name().to_owned(),
        roles: member.roles.iter().map(|role| RoleId(role.get())).collect(),
        is_administrator: rights.administrator(),
        may_manage_server: rights.administrator() || rights.manage_guild(),
    }
}

/// Returns whether the member sees `channel`; everyone who sees the channel above sees a thread.
pub fn sees(guild: &Guild, channel: &GuildChannel, member: &Member) -> bool {
    guild.user_permissions_in(channel, member).view_channel()
}

/// Works like [`sees`], for the roles of a person.
pub fn person_sees(guild: &Guild, channel: &GuildChannel, person: &Person) -> bool {
    rights_in(guild, channel, person.id, &person.roles).view_channel()
}

/// Returns the rights in a channel of a member with these roles.
pub fn rights_in(
    guild: &Guild,
    channel: &GuildChannel,
    user: UserId,
    roles: &[RoleId],
) -> Permissions {
    let roles: Vec<String> = roles.iter().map(RoleId::to_string).collect();
    // serenity's type can only be created by deserialising it.
    let member = serde_json::from_value(serde_json::json!({ "roles": roles }));
    let id = serenity::all::UserId::new(user.0.max(1));
    member.map_or_else(
        |_| Permissions::empty(),
        |member| guild.partial_member_permissions_in(channel, id, &member),
    )
}

/// Returns whether everyone who sees the channel `from` clearly also sees `to`: all members see `to`, or the same roles
/// and members see both.
pub fn all_see(guild: &Guild, from: &GuildChannel, to: &GuildChannel) -> bool {
    let everyone = serenity::all::RoleId::new(guild.id.get());
    let everyone_views = guild
        .roles
        .get(&everyone)
        .is_some_and(|role| role.permissions.view_channel());
    let to_views = views(to);
    let is_open = match to_views.as_slice() {
        [] => everyone_views,
        overwrites => {
            let for_all = PermissionOverwriteType::Role(everyone);
            overwrites.iter().all(|(_, sees)| *sees)
                && (everyone_views || overwrites.contains(&(for_all, true)))
        }
    };
    let from_views = views(from);
    let is_same =
        from_views.len() == to_views.len() && from_views.iter().all(|view| to_views.contains(view));
    is_open || is_same
}

/// Returns the roles and members for whom a channel sets its visibility, with the setting.
fn views(channel: &GuildChannel) -> Vec<(PermissionOverwriteType, bool)> {
    let overwrites = channel.permission_overwrites.iter();
    overwrites
        .filter(|one| one.allow.view_channel() || one.deny.view_channel())
        .map(|one| (one.kind, one.allow.view_channel()))
        .collect()
}

/// Returns whether the member may create and change channels.
pub fn may_manage_channels(guild: &Guild, member: &Member) -> bool {
    let rights = rights(guild, member.user.id.get(), &member.roles);
    rights.administrator() || rights.manage_channels()
}

/// Returns the rights in the whole server; the owner has them all.
fn rights(guild: &Guild, id: u64, roles: &[serenity::all::RoleId]) -> Permissions {
    if guild.owner_id.get() == id {
        return Permissions::all();
    }
    let everyone = serenity::all::RoleId::new(guild.id.get());
    roles
        .iter()
        .chain([&everyone])
        .filter_map(|role| guild.roles.get(role))
        .fold(Permissions::empty(), |sum, role| sum | role.permissions)
}

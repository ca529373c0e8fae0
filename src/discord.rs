//! Discord: the only users of serenity and poise types.

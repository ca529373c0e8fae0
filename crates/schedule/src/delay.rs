//! The delay that spreads schedules due at minute 0.

use std::time::Duration;

/// Returns how long after its slot a recurring schedule with this id begins: 0 to 59 s, the same each time.
///
/// Most people write `0 7 * * *`. Without a delay, all of these would call the same models in the same second.
pub fn start_delay(id: i64) -> Duration {
    // SplitMix64: neighbouring ids have unrelated delays.
    let mut mixed = id.cast_unsigned().wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Duration::from_secs((mixed ^ (mixed >> 31)) % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_spread_and_stay_what_they_are() {
        let mut seconds = [0_u32; 60];
        for id in 0..6_000 {
            seconds[usize::try_from(start_delay(id).as_secs()).unwrap()] += 1;
        }
        assert!(
            seconds.iter().all(|count| (50..=160).contains(count)),
            "{seconds:?}"
        );
        assert_eq!(
            [1, 2, 3].map(|id| start_delay(id).as_secs()),
            [1, 2, 3].map(|id| start_delay(id).as_secs())
        );
    }
}

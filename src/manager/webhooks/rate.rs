//! How many deliveries a webhook may have: 30 at once, then one each two seconds.

use std::time::Duration;

use tokio::time::Instant;

/// Deliveries at once.
const BURST: u32 = 30;
/// Time in which one more is allowed: 30 a minute.
const EACH: Duration = Duration::from_secs(2);

/// What is left for one webhook.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// When all of the burst is allowed again.
    full_at: Instant,
}

impl Bucket {
    pub(super) fn full(now: Instant) -> Self {
        Self { full_at: now }
    }

    /// Takes one delivery.
    ///
    /// # Errors
    ///
    /// How long until one is allowed again.
    pub(super) fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let full_at = self.full_at.max(now) + EACH;
        let used = full_at - now;
        let most = EACH * BURST;
        if used > most {
            return Err(used - most);
        }
        self.full_at = full_at;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_pass_at_once_and_then_thirty_a_minute() {
        let now = Instant::now();
        let mut bucket = Bucket::full(now);
        for _ in 0..30 {
            assert_eq!(bucket.take(now), Ok(()));
        }
        assert_eq!(bucket.take(now), Err(EACH));
        let later = now + Duration::from_millis(500);
        assert_eq!(bucket.take(later), Err(Duration::from_millis(1_500)));
        assert_eq!(bucket.take(now + EACH), Ok(()));
        assert!(bucket.take(now + EACH).is_err());
        let minute = now + EACH + Duration::from_secs(60);
        let passed = (0..100).filter(|_| bucket.take(minute).is_ok()).count();
        assert_eq!(passed, 30);
    }
}

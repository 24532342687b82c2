//! How failed requests are tried again: how often, and after which wait.
//!
//! Owns: the numbers. Never: decides which failures deserve it, or waits.

/// How failed answers are tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetrySettings {
    pub enabled: bool,
    /// Attempts after the first.
    pub max_retries: u32,
    /// Wait before the first retry, in milliseconds; it doubles with each one.
    pub base_delay_ms: u64,
    /// Longest wait in milliseconds, also when the server asks for more.
    pub max_agent_delay_ms: u64,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self { enabled: true, max_retries: 3, base_delay_ms: 2000, max_agent_delay_ms: 60_000 }
    }
}

impl RetrySettings {
    /// Whether another attempt is allowed after `attempt` retries.
    pub(crate) fn allows(&self, attempt: u32) -> bool {
        self.enabled && attempt < self.max_retries
    }

    /// Milliseconds to wait before retry `attempt`, counted from 1. Never less than the server
    /// asked for, unless that is beyond the longest wait.
    pub(crate) fn delay_ms(&self, attempt: u32, retry_after_ms: Option<u64>) -> u64 {
        let doublings = attempt.saturating_sub(1);
        let factor = 1u64.checked_shl(doublings).unwrap_or(u64::MAX);
        let delay = self.base_delay_ms.saturating_mul(factor);
        delay.max(retry_after_ms.unwrap_or(0)).min(self.max_agent_delay_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_one() {
        let settings = RetrySettings {
            base_delay_ms: 100,
            max_agent_delay_ms: 500,
            ..RetrySettings::default()
        };
        let waits = [1, 2, 3, 4, 80].map(|attempt| settings.delay_ms(attempt, None));
        assert_eq!(waits, [100, 200, 400, 500, 500]);
        let waits = [1, 2, 3].map(|attempt| RetrySettings::default().delay_ms(attempt, None));
        assert_eq!(waits, [2000, 4000, 8000]);
    }

    #[test]
    fn the_server_may_ask_for_more_but_not_for_less_or_for_ever() {
        let settings = RetrySettings::default();
        let waits =
            [Some(5000), Some(10), Some(3_600_000), None].map(|ms| settings.delay_ms(1, ms));
        assert_eq!(waits, [5000, 2000, 60_000, 2000]);
    }

    #[test]
    fn attempts_are_allowed_up_to_the_number_set_and_none_when_disabled() {
        let settings = RetrySettings::default();
        assert_eq!([0, 2, 3].map(|attempt| settings.allows(attempt)), [true, true, false]);
        let disabled = RetrySettings { enabled: false, ..settings };
        assert!(!disabled.allows(0));
    }
}

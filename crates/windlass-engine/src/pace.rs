//! How a loop goes from step to step: at once, after a pause, or not any more.

use std::fmt::Display;
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use windlass_core::error::RetryAdvice;

/// A loop's step, with the pause that is to follow it.
pub(crate) trait Paced: Send {
    /// What the loop does, for the log.
    const WHAT: &'static str;
    /// What can go wrong.
    type Error: Display + Send;
    /// How long a step may go on after the loop was told to stop, if it can be left at any time.
    const STOPS_WITHIN: Option<Duration> = None;

    /// Does one step; says how long to wait before the next one.
    fn pace(&mut self) -> impl Future<Output = Result<Duration, Self::Error>> + Send;

    /// Ends when there is a reason to step before the pause is over.
    fn wake(&mut self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }

    /// Whether and when to step again after an error.
    fn retry(error: &Self::Error) -> RetryAdvice;

    /// Says that something went wrong. It is not said again while the same goes wrong.
    fn tell(&self, error: &Self::Error, delay: Duration) {
        warn_once(Self::WHAT, error, delay);
    }
}

/// Says that a step of a loop failed, unless another loop has just said the same: while a database
/// restarts, all of them fail.
pub(crate) fn warn_once(what: &str, error: &dyn Display, delay: Duration) {
    if is_news(error.to_string()) {
        tracing::warn!(%error, ?delay, "{what} failed and is retried after `delay`; other tasks that fail with the same error are not logged");
    } else {
        tracing::debug!(%error, ?delay, "{what} failed and is retried after `delay`");
    }
}

/// The same words are said once in this time.
const NEWS_EVERY: Duration = Duration::from_secs(30);
/// The most words that are remembered.
const MAX_REMEMBERED: usize = 32;

fn is_news(words: String) -> bool {
    static SAID: Mutex<Vec<(String, Instant)>> = Mutex::new(Vec::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    said.retain(|(_, at)| at.elapsed() < NEWS_EVERY);
    if said.iter().any(|(other, _)| *other == words) {
        return false;
    }
    if said.len() == MAX_REMEMBERED {
        said.remove(0);
    }
    said.push((words, Instant::now()));
    true
}

/// Steps until told to stop. Trouble that passes is waited out; what would fail the
/// same way again ends it.
pub(crate) async fn step_until<P: Paced>(
    paced: &mut P,
    shutdown: &CancellationToken,
) -> Result<(), P::Error> {
    let mut told = None;
    while !shutdown.is_cancelled() {
        let mut is_idle = false;
        let Some(step) = step_or_stop(paced, shutdown).await else { break };
        let pause = match step {
            Ok(pause) => {
                is_idle = !pause.is_zero();
                told = None;
                pause
            }
            Err(error) => match P::retry(&error) {
                RetryAdvice::After(delay) => {
                    let words = error.to_string();
                    if told.as_ref() == Some(&words) {
                        tracing::debug!(%error, ?delay, "{} still fails", P::WHAT);
                    } else {
                        paced.tell(&error, delay);
                        told = Some(words);
                    }
                    delay
                }
                RetryAdvice::Never => return Err(error),
            },
        };
        tokio::select! {
            () = shutdown.cancelled() => break,
            () = tokio::time::sleep(pause) => {}
            () = paced.wake(), if is_idle => {}
        }
    }
    Ok(())
}

/// One step; `None` if it was left because the loop is to stop.
async fn step_or_stop<P: Paced>(
    paced: &mut P,
    shutdown: &CancellationToken,
) -> Option<Result<Duration, P::Error>> {
    let Some(limit) = P::STOPS_WITHIN else { return Some(paced.pace().await) };
    let stop = async {
        shutdown.cancelled().await;
        tokio::time::sleep(limit).await;
    };
    tokio::select! {
        step = paced.pace() => Some(step),
        () = stop => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[derive(Default)]
    struct Steps(u32);

    impl Paced for Steps {
        const WHAT: &'static str = "the test";
        type Error = &'static str;

        async fn pace(&mut self) -> Result<Duration, &'static str> {
            self.0 += 1;
            match self.0 {
                1 | 3 => Ok(Duration::from_secs(1)),
                2 => Err("passing"),
                _ => Err("lasting"),
            }
        }

        fn retry(error: &&'static str) -> RetryAdvice {
            match *error {
                "passing" => RetryAdvice::After(Duration::from_secs(5)),
                _ => RetryAdvice::Never,
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn passing_trouble_is_waited_out_and_lasting_trouble_ends_it() {
        let mut steps = Steps::default();
        let begun = tokio::time::Instant::now();
        let ended = step_until(&mut steps, &CancellationToken::new()).await;
        assert_eq!((ended, steps.0), (Err("lasting"), 4));
        assert_eq!(begun.elapsed(), Duration::from_secs(7));
    }

    /// A step that never ends.
    struct Endless;

    impl Paced for Endless {
        const WHAT: &'static str = "the test";
        const STOPS_WITHIN: Option<Duration> = Some(Duration::from_secs(1));
        type Error = &'static str;

        async fn pace(&mut self) -> Result<Duration, &'static str> {
            std::future::pending().await
        }

        fn retry(_error: &&'static str) -> RetryAdvice {
            RetryAdvice::Never
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_step_that_can_be_left_does_not_hold_up_the_end() {
        let (shutdown, begun) = (CancellationToken::new(), tokio::time::Instant::now());
        let stop = async {
            tokio::time::sleep(Duration::from_secs(9)).await;
            shutdown.cancel();
        };
        let mut endless = Endless;
        let (ended, ()) = tokio::join!(step_until(&mut endless, &shutdown), stop);
        assert_eq!((ended, begun.elapsed()), (Ok(()), Duration::from_secs(10)));
    }

    /// Fails alike for a while, comes through, and fails again.
    #[derive(Default)]
    struct Stubborn {
        steps: u32,
        told: AtomicU32,
    }

    impl Paced for Stubborn {
        const WHAT: &'static str = "the test";
        type Error = &'static str;

        async fn pace(&mut self) -> Result<Duration, &'static str> {
            self.steps += 1;
            match self.steps {
                1..=3 | 6 => Err("passing"),
                4 => Err("passing too"),
                5 => Ok(Duration::ZERO),
                _ => Err("lasting"),
            }
        }

        fn retry(error: &&'static str) -> RetryAdvice {
            Steps::retry(if *error == "lasting" { error } else { &"passing" })
        }

        fn tell(&self, _: &&'static str, _: Duration) {
            self.told.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn trouble_is_told_when_it_begins_and_when_it_changes() {
        let mut stubborn = Stubborn::default();
        let ended = step_until(&mut stubborn, &CancellationToken::new()).await;
        assert_eq!((ended, stubborn.steps), (Err("lasting"), 7));
        assert_eq!(stubborn.told.into_inner(), 3);
    }

    #[test]
    fn what_interrupts_many_loops_is_said_once() {
        let said: Vec<bool> = (0..3).map(|_| is_news("the database restarts".to_owned())).collect();
        assert_eq!(said, [true, false, false]);
        assert!(is_news("something else".to_owned()));
    }

    #[tokio::test]
    async fn a_cancelled_loop_takes_no_step() {
        let shutdown = CancellationToken::new();
        shutdown.cancel();
        let mut steps = Steps::default();
        assert_eq!((step_until(&mut steps, &shutdown).await, steps.0), (Ok(()), 0));
    }
}

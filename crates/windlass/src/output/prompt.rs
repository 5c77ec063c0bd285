//! Questions on a terminal. Where standard input or standard error is no terminal there is no
//! prompt, and a command uses its flags and defaults.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use super::style::{self, paint};
use crate::failure::Failure;

/// The longest answer.
const MAX_ANSWER_BYTES: u64 = 4 << 10;
/// After so many answers that cannot be read the command ends.
const MAX_TRIES: usize = 5;

/// A terminal on which questions can be asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prompt(());

impl Prompt {
    /// The terminal, if there is one on both sides.
    pub(crate) fn open() -> Option<Self> {
        (io::stdin().is_terminal() && io::stderr().is_terminal()).then_some(Self(()))
    }

    /// Asks until the answer can be read. An empty answer means the default.
    pub(crate) fn ask<T>(
        self,
        question: &str,
        default: Option<&str>,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, Failure> {
        for _ in 0..MAX_TRIES {
            match read(&answer(question, default)?) {
                Ok(read) => return Ok(read),
                Err(trouble) => refuse(&trouble),
            }
        }
        Err(unanswered())
    }

    /// The same where an endpoint is asked whether the answer is right.
    pub(crate) async fn ask_and_check<T>(
        self,
        question: &str,
        default: Option<&str>,
        check: impl AsyncFn(&str) -> Result<T, String>,
    ) -> Result<T, Failure> {
        for _ in 0..MAX_TRIES {
            match check(&answer(question, default)?).await {
                Ok(read) => return Ok(read),
                Err(trouble) => refuse(&trouble),
            }
        }
        Err(unanswered())
    }

    /// Asks for a yes; an empty answer is a no.
    pub(crate) fn confirm(self, question: &str) -> Result<bool, Failure> {
        self.ask(&format!("{question} (yes/no)"), Some("no"), |answer| match answer {
            "y" | "yes" => Ok(true),
            "n" | "no" => Ok(false),
            _ => Err("answer yes or no".to_owned()),
        })
    }
}

/// One answer; an empty one is the default.
fn answer(question: &str, default: Option<&str>) -> Result<String, Failure> {
    let line = line(question, default)?;
    Ok(match default {
        Some(default) if line.is_empty() => default.to_owned(),
        _ => line,
    })
}

/// Says why an answer is not taken.
fn refuse(trouble: &str) {
    super::note(&format!("{} {trouble}", paint(style::ERROR, "no:")));
}

fn unanswered() -> Failure {
    Failure::refused("the question was not answered").hint("every answer can be given as a flag")
}

/// Shows a question and reads one line.
fn line(question: &str, default: Option<&str>) -> Result<String, Failure> {
    let default =
        default.filter(|text| !text.is_empty()).map_or_else(String::new, |text| format!(" [{text}]"));
    let mut shown = anstream::stderr().lock();
    // Where it cannot be shown it cannot be answered either, and reading says so.
    let _ = write!(shown, "{}{default}: ", paint(style::NAME, question));
    let _ = shown.flush();
    let mut line = String::new();
    let read = io::stdin().lock().take(MAX_ANSWER_BYTES).read_line(&mut line);
    match read {
        Ok(1..) => Ok(line.trim().to_owned()),
        Ok(0) => Err(Failure::refused("standard input ended before the question was answered")),
        Err(error) => Err(Failure::refused(format_args!("the answer cannot be read: {error}"))),
    }
}

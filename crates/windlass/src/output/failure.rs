//! How a failure is shown.

use std::fmt::Write;

use windlass_core::code::Code;

use super::style::{self, paint};
use crate::failure::Failure;

/// Writes a failure to standard error; nothing for one that has said its part.
pub(crate) fn show(failure: &Failure) {
    if failure.message.is_empty() {
        return;
    }
    if super::log::is_json() {
        let Failure { code, message, details, hint, .. } = failure;
        let (code, details) = (code.map(Code::as_str), details.join("; "));
        tracing::error!(code, details, hint, "{message}");
        return;
    }
    super::note(render(failure).trim_end());
}

fn render(failure: &Failure) -> String {
    let mut text = String::new();
    let label = match failure.code {
        Some(code) => format!("error[{code}]:"),
        None => "error:".to_owned(),
    };
    // Writing to a `String` cannot fail.
    let _ = writeln!(text, "{} {}", paint(style::ERROR, label), failure.message);
    for detail in &failure.details {
        let _ = writeln!(text, "  {detail}");
    }
    if let Some(hint) = &failure.hint {
        let _ = writeln!(text, "{} {hint}", paint(style::GOOD, "hint:"));
    }
    if let Some(code) = failure.code {
        let command = paint(style::NAME, format_args!("windlass explain {code}"));
        let _ = writeln!(text, "{} {command}", paint(style::GOOD, "see:"));
    }
    text
}

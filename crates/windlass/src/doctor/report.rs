//! What the doctor found.

use std::fmt::Write;

use serde::Serialize;

use crate::failure::Failure;
use crate::output::style::{self, paint};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    /// As it should be.
    Ok,
    /// It works, and may not work well.
    Warning,
    /// It does not work.
    Failure,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// How bad it is.
    pub(crate) level: Level,
    /// What was looked at, such as `database` or `chain.polygon.rpc[0]`.
    pub(crate) subject: String,
    /// What was found.
    pub(crate) message: String,
    /// More lines, where one does not do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) details: Vec<String>,
    /// What to do about it.
    pub(crate) hint: Option<String>,
    /// The page that explains it.
    pub(crate) code: Option<&'static str>,
}

impl Finding {
    /// All is well.
    pub(crate) fn ok(subject: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            level: Level::Ok,
            subject: subject.into(),
            message: message.into(),
            details: Vec::new(),
            hint: None,
            code: None,
        }
    }

    /// It works, and may not work well.
    pub(crate) fn warning(subject: impl Into<String>, message: impl Into<String>, hint: &str) -> Self {
        Self { level: Level::Warning, hint: Some(hint.to_owned()), ..Self::ok(subject, message) }
    }

    /// It does not work, for the reason a command would give.
    pub(crate) fn failed(subject: impl Into<String>, failure: impl Into<Failure>) -> Self {
        let failure = failure.into();
        Self {
            level: Level::Failure,
            details: failure.details,
            // Whoever reads this has asked the doctor already.
            hint: failure.hint.filter(|hint| !hint.contains("windlass doctor")),
            code: failure.code.map(|code| code.as_str()),
            ..Self::ok(subject, failure.message)
        }
    }
}

/// Everything that was looked at.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    pub(crate) findings: Vec<Finding>,
}

impl Report {
    /// Whether something does not work.
    pub(crate) fn has_failures(&self) -> bool {
        self.count(Level::Failure) > 0
    }

    /// A line for each finding, its hint below, and the counts.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        let width = self.findings.iter().map(|finding| finding.subject.len()).max().unwrap_or(0);
        for finding in &self.findings {
            render(&mut text, finding, width);
        }
        let [ok, warnings, failures] =
            [Level::Ok, Level::Warning, Level::Failure].map(|level| self.count(level));
        let plural = |count| if count == 1 { "" } else { "s" };
        // Writing to a `String` cannot fail.
        let _ = writeln!(
            text,
            "\n{ok} ok, {warnings} warning{}, {failures} failure{}",
            plural(warnings),
            plural(failures)
        );
        text
    }

    fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }
}

fn render(text: &mut String, finding: &Finding, width: usize) {
    let (style, word) = match finding.level {
        Level::Ok => (style::GOOD, "ok"),
        Level::Warning => (style::WARNING, "warning"),
        Level::Failure => (style::ERROR, "failure"),
    };
    let word = paint(style, format_args!("{word:<7}"));
    let _ = writeln!(text, "{word}  {:width$}  {}", finding.subject, finding.message);
    let indent = width + 11;
    for detail in &finding.details {
        let _ = writeln!(text, "{:indent$}{detail}", "");
    }
    if let Some(hint) = &finding.hint {
        let _ = writeln!(text, "{:indent$}{} {hint}", "", paint(style::GOOD, "hint:"));
    }
    if let Some(code) = finding.code {
        let _ = writeln!(text, "{:indent$}{} windlass explain {code}", "", paint(style::GOOD, "see:"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_make_it_fail() {
        let mut report =
            Report { findings: vec![Finding::ok("a", "fine"), Finding::warning("b", "hm", "do")] };
        assert!(!report.has_failures());
        let advice = Failure::usage("broken").hint("`windlass doctor` says more");
        report.findings.push(Finding::failed("c", advice));
        assert_eq!(report.findings[2].hint, None, "the doctor sends nobody to the doctor");
        assert!(report.has_failures());
        let text = anstream::adapter::strip_str(&report.render()).to_string();
        assert!(text.ends_with("1 ok, 1 warning, 1 failure\n"), "{text}");
    }
}

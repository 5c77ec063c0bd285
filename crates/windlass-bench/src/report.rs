//! The one line a benchmark prints, and whether its bars were reached.

use std::fmt::Display;
use std::process::ExitCode;

use crate::memory::peak_rss_mib;

/// A benchmark's result: `key=value` pairs in order, and the bars.
pub(crate) struct Report {
    fields: Vec<(String, String)>,
    missed: Vec<String>,
}

/// How many of something in how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    /// How many.
    pub(crate) n: u64,
    /// In how long.
    pub(crate) seconds: f64,
}

impl Measured {
    /// How many a second.
    pub(crate) fn rate(&self) -> f64 {
        self.n as f64 / self.seconds
    }
}

impl Report {
    /// A line that begins with the case, the store and what was measured.
    pub(crate) fn new(case: &str, store: &str, measured: Measured) -> Self {
        let report = Self { fields: Vec::new(), missed: Vec::new() };
        report
            .with("case", case)
            .with("store", store)
            .with("n", measured.n)
            .with("seconds", format_args!("{:.3}", measured.seconds))
            .with("rate", format_args!("{:.0}", measured.rate()))
    }

    /// The same line with one more field.
    pub(crate) fn with(mut self, key: &str, value: impl Display) -> Self {
        self.fields.push((key.to_owned(), value.to_string()));
        self
    }

    /// A bar: said on stderr and in the exit code when it is missed.
    pub(crate) fn bar(mut self, what: &str, reached: f64, at_least: f64) -> Self {
        if reached < at_least {
            self.missed.push(format!("{what} is {reached:.2}, the bar is {at_least}"));
        }
        self
    }

    /// What had to hold and did not, with its reason.
    pub(crate) fn missed(mut self, why: &dyn Display) -> Self {
        self.missed.push(why.to_string());
        self
    }

    /// The same for what has to stay small.
    pub(crate) fn at_most(mut self, what: &str, reached: f64, at_most: f64) -> Self {
        if reached > at_most {
            self.missed.push(format!("{what} is {reached:.2}, the bar is at most {at_most}"));
        }
        self
    }

    /// The same with a name for what was measured before each missed bar.
    pub(crate) fn named(mut self, name: &str) -> Self {
        self.missed = self.missed.iter().map(|missed| format!("{name}: {missed}")).collect();
        self
    }

    /// Prints this line at once; what remains is the later one, with the missed bars of both.
    pub(crate) fn followed_by(self, later: Self) -> Self {
        anstream::println!("{}", self.line());
        Self { fields: later.fields, missed: [self.missed, later.missed].concat() }
    }

    fn line(&self) -> String {
        let fields: Vec<String> = self.fields.iter().map(|(key, value)| format!("{key}={value}")).collect();
        fields.join(" ")
    }

    /// Prints the line on stdout and missed bars on stderr.
    pub(crate) fn print(self) -> ExitCode {
        let report = self.with("peak_rss_mib", peak_rss_mib());
        anstream::println!("{}", report.line());
        for missed in &report.missed {
            anstream::eprintln!("missed: {missed}");
        }
        if report.missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

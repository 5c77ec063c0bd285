//! The few colours there are.

use clap::builder::styling::{AnsiColor, Style, Styles};

/// `error:`
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// `warning:`
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// `hint:`, `ok`
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// `see:`, codes and commands
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();

/// How clap shows help.
pub(crate) const HELP: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Text in a style; `anstream` takes the style away where it is not wanted.
pub(crate) fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

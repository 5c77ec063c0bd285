//! Flags that every command takes.

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args, ColorChoice};

use crate::config::log::{Format, Log};
use crate::config::origin::Origin;
use crate::config::problem::Problem;
use crate::config::tree::{self, Table};
use crate::config::{Config, Loaded, Sources};
use crate::failure::Failure;

/// What was typed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Configuration file [default: windlass.toml in the current folder, if there is one]
    #[arg(long, global = true, value_name = "PATH", env = "WINDLASS_CONFIG", hide_env = true)]
    config: Option<PathBuf>,
    /// How logs are written to standard error
    #[arg(long, global = true, value_name = "FORMAT", value_parser = ["pretty", "json"])]
    log_format: Option<String>,
    /// Log more; twice for everything
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
    /// Log less; twice for errors only
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "verbose")]
    quiet: u8,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_default_value = true)]
    color: ColorChoice,
}

/// What it means.
#[derive(Debug)]
pub(crate) struct Global {
    sources: Sources,
    /// What flags alone say about logs.
    log: Log,
    /// How many levels more (or, negative, less) is logged than configured.
    level_shift: i8,
}

impl GlobalArgs {
    /// Decides about colour, before anything is printed.
    pub(crate) fn colour(&self) {
        let choice = match self.color {
            ColorChoice::Auto => anstream::ColorChoice::Auto,
            ColorChoice::Always => anstream::ColorChoice::AlwaysAnsi,
            ColorChoice::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }

    pub(crate) fn options(self) -> Global {
        let json = self.log_format.as_deref() == Some("json");
        let log = Log { format: if json { Format::Json } else { Format::Pretty }, ..Log::default() };
        let mut flags = Table::new();
        if let Some(name) = self.log_format {
            let path = ["log".to_owned(), "format".to_owned()];
            tree::put(&mut flags, &path, &Origin::Flag("--log-format"), name.into());
        }
        let steps = |count: u8| i8::try_from(count).unwrap_or(i8::MAX);
        let level_shift = steps(self.verbose) - steps(self.quiet);
        Global { sources: Sources { file: self.config, flags }, log, level_shift }
    }
}

impl Global {
    /// The configuration that is in force.
    pub(crate) fn load(&self) -> Result<Loaded, Failure> {
        let mut loaded = self.sources.load()?;
        if self.level_shift != 0 {
            let level = loaded.config.log.level.shifted(self.level_shift);
            loaded.config.log.level = level;
            let flag = Origin::Flag(if self.level_shift > 0 { "--verbose" } else { "--quiet" });
            tree::put(
                &mut loaded.tree,
                &["log".to_owned(), "level".to_owned()],
                &flag,
                level.as_str().into(),
            );
        }
        Ok(loaded)
    }

    /// The configuration as far as it can be read, with every problem that it has.
    pub(crate) fn examine(&self) -> Result<(Loaded, Vec<Problem>), Failure> {
        self.sources.examine()
    }

    /// What a file would say, together with everything else that has a say.
    pub(crate) fn read(&self, path: &Path, text: &str) -> Result<Config, Failure> {
        self.sources.read(path, text)
    }

    /// How to log where no configuration is read.
    pub(crate) fn log(&self) -> Log {
        Log { level: self.log.level.shifted(self.level_shift), format: self.log.format }
    }

    /// The file that was named, if one was.
    pub(crate) fn file(&self) -> Option<&PathBuf> {
        self.sources.file.as_ref()
    }
}

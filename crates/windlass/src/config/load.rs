//! All layers together.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use windlass_core::code::Code;

use super::problem::Problem;
use super::tree::Table;
use super::{Config, FILE_NAME, environment, file, schema, tree, typed};
use crate::failure::Failure;

/// Where the layers are.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// The file that was named; otherwise `windlass.toml` in the current folder, if it is there.
    pub(crate) file: Option<PathBuf>,
    /// What flags say.
    pub(crate) flags: Table,
}

/// A configuration that is in force.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// What it says.
    pub(crate) config: Config,
    /// Where each value that somebody set came from.
    pub(crate) tree: Table,
    /// The file that was read, if there was one.
    pub(crate) file: Option<PathBuf>,
}

impl Sources {
    /// Reads every layer, or reports every problem.
    pub(crate) fn load(&self) -> Result<Loaded, Failure> {
        let (path, text) = match self.read_file()? {
            Some((path, text)) => (Some(path), text),
            None => (None, String::new()),
        };
        let shown = path.as_deref().unwrap_or(Path::new(FILE_NAME));
        let (tree, config) =
            assemble(shown, &text, std::env::vars_os(), self.flags.clone()).map_err(invalid)?;
        Ok(Loaded { config, tree, file: path })
    }

    fn read_file(&self) -> Result<Option<(PathBuf, String)>, Failure> {
        let path = self.file.as_deref().unwrap_or(Path::new(FILE_NAME));
        match read(path) {
            Ok(text) => Ok(Some((path.to_owned(), text))),
            Err(error) if error.kind() == ErrorKind::NotFound && self.file.is_none() => Ok(None),
            Err(error) => Err(Failure::coded(
                Code::ConfigUnreadable,
                format_args!("cannot read `{}`: {error}", path.display()),
            )
            .hint("`windlass init` writes a file to start from")),
        }
    }
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(file::MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > file::MAX_FILE_BYTES {
        return Err(std::io::Error::other(format!("it is longer than {} bytes", file::MAX_FILE_BYTES)));
    }
    Ok(text)
}

type Variables = (std::ffi::OsString, std::ffi::OsString);

/// Lays the layers on each other and reads the result.
fn assemble(
    path: &Path,
    text: &str,
    variables: impl IntoIterator<Item = Variables>,
    flags: Table,
) -> Result<(Table, Config), Vec<Problem>> {
    let root = schema::inlined();
    let variables = variables
        .into_iter()
        .filter_map(|(name, text)| Some((name.into_string().ok()?, text.into_string().ok()?)));
    let (mut table, mut problems) = file::parse(path, text);
    // What follows a syntax error is guesswork: problems found in it would mislead.
    if !problems.is_empty() {
        return Err(problems);
    }
    tree::merge(&mut table, environment::layer(variables, &root));
    tree::merge(&mut table, flags);
    problems.extend(schema::refuse_unknown(&mut table, &root, ""));
    match typed::read(table.clone()) {
        Ok(config) => {
            problems.extend(typed::check(&config, &table));
            if problems.is_empty() { Ok((table, config)) } else { Err(problems) }
        }
        Err(more) => {
            problems.extend(more);
            Err(problems)
        }
    }
}

fn invalid(mut problems: Vec<Problem>) -> Failure {
    problems.sort_by(|left, right| left.origin.cmp(&right.origin));
    let message = match problems.len() {
        1 => "the configuration has a problem".to_owned(),
        count => format!("the configuration has {count} problems"),
    };
    Failure::coded(Code::ConfigInvalid, message)
        .details(problems.iter().map(ToString::to_string))
        .hint("`windlass config example` prints a file that is accepted")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::EXAMPLE;
    use crate::config::log::Level;
    use crate::config::origin::Origin;

    fn assemble_with(text: &str, variables: &[(&str, &str)], flags: Table) -> Result<Config, Vec<String>> {
        let variables = variables.iter().map(|(name, text)| (name.into(), text.into()));
        assemble(Path::new("w.toml"), text, variables, flags)
            .map(|(_, config)| config)
            .map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn each_layer_overrides_the_one_below() {
        let level = |text, variables, flags| {
            assemble_with(text, variables, flags).expect("a configuration").log.level
        };
        let mut flags = Table::new();
        tree::put(&mut flags, &["log".into(), "level".into()], &Origin::Flag("-v"), "trace".into());
        let (text, variables) = ("log.level = 'warn'", [("WINDLASS_LOG__LEVEL", "debug")]);
        assert_eq!(level("", &[], Table::new()), Level::Info);
        assert_eq!(level(text, &[], Table::new()), Level::Warn);
        assert_eq!(level(text, &variables, Table::new()), Level::Debug);
        assert_eq!(level(text, &variables, flags), Level::Trace);
    }

    #[test]
    fn problems_of_all_kinds_and_layers_come_together() {
        let problems = assemble_with(
            "lgo.level = 'warn'\nlog.level = 'loud'",
            &[("WINDLASS_SHUTDOWN__LIMIT", "soon"), ("WINDLASS_API__LISTN", "x")],
            Table::new(),
        )
        .expect_err("wrong");
        assert_eq!(problems.len(), 4, "{problems:?}");
        assert!(problems.iter().any(|problem| problem.starts_with("WINDLASS_API__LISTN: unknown key")));
        assert!(
            problems.iter().any(|problem| problem.starts_with("WINDLASS_SHUTDOWN__LIMIT: shutdown.limit: "))
        );
    }

    #[test]
    fn the_example_is_accepted() {
        assemble_with(EXAMPLE, &[], Table::new()).expect("no problems");
    }
}

//! All layers together.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use windlass_core::code::Code;

use super::chain::Chain;
use super::origin::Origin;
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
        let (loaded, problems) = self.examine()?;
        if problems.is_empty() { Ok(loaded) } else { Err(invalid(problems)) }
    }

    /// Reads every layer as far as that goes, and tells every problem: for whoever adds to them.
    pub(crate) fn examine(&self) -> Result<(Loaded, Vec<Problem>), Failure> {
        let (path, text) = match self.read_file()? {
            Some((path, text)) => (Some(path), text),
            None => (None, String::new()),
        };
        let shown = path.as_deref().unwrap_or(Path::new(FILE_NAME));
        let Assembled { tree, config, problems } =
            assemble(shown, &text, std::env::vars_os(), self.flags.clone());
        let config = anchored(config, &tree, path.as_deref());
        Ok((Loaded { config, tree, file: path }, problems))
    }

    /// Reads a text as if it were the file, with all other layers.
    pub(crate) fn read(&self, path: &Path, text: &str) -> Result<Config, Failure> {
        let Assembled { tree, config, problems } =
            assemble(path, text, std::env::vars_os(), self.flags.clone());
        if problems.is_empty() { Ok(anchored(config, &tree, Some(path))) } else { Err(invalid(problems)) }
    }

    fn read_file(&self) -> Result<Option<(PathBuf, String)>, Failure> {
        let path = self.file.as_deref().unwrap_or(Path::new(FILE_NAME));
        match read(path) {
            Ok(text) => Ok(Some((path.to_owned(), text))),
            Err(error) if error.kind() == ErrorKind::NotFound && self.file.is_none() => Ok(None),
            Err(error) => Err(unreadable(path, &error)),
        }
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let hint = match error.kind() {
        ErrorKind::PermissionDenied => "give the user that runs windlass the right to read it",
        ErrorKind::NotFound => "check the path; `windlass init` writes a file to start from",
        _ => "it must be a text file of at most 1 MiB",
    };
    Failure::coded(Code::ConfigUnreadable, format_args!("cannot read `{}`: {error}", path.display()))
        .hint(hint)
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(file::MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > file::MAX_FILE_BYTES {
        return Err(std::io::Error::other(format!("it is longer than {} bytes", file::MAX_FILE_BYTES)));
    }
    Ok(text)
}

/// Takes relative paths from the folder of the file they are written in, and
/// those of the environment and of flags from the current folder. The default
/// database lies beside the file, if there is one.
fn anchored(mut config: Config, table: &Table, file: Option<&Path>) -> Config {
    let folder_of = |key: &[&str]| {
        let key: Vec<String> = key.iter().map(|part| (*part).to_owned()).collect();
        let origin = tree::nearest(table, &key).map_or(Origin::Default, |node| node.origin.clone());
        let file = match &origin {
            Origin::File { path, .. } => Some(path.as_path()),
            Origin::Default => file,
            Origin::Env(_) | Origin::Flag(_) => None,
        };
        let folder = file.and_then(Path::parent).unwrap_or(Path::new(""));
        std::path::absolute(Path::new(".").join(folder)).unwrap_or_else(|_| folder.to_owned())
    };
    config.database.url = config.database.url.anchored(&folder_of(&["database", "url"]));
    let chains = std::mem::take(&mut config.chain).into_iter();
    config.chain = chains
        .map(|(name, chain)| {
            let folder = folder_of(&["chain", &name.to_string(), "rpc"]);
            let rpc = chain.rpc.anchored(&folder);
            (name, Chain { rpc, ..chain })
        })
        .collect();
    config.pay = config.pay.map(|pay| pay.anchored(&folder_of(&["pay"])));
    let signers = std::mem::take(&mut config.signer).into_iter();
    config.signer = signers
        .map(|(name, signer)| {
            let folder = folder_of(&["signer", &name.to_string()]);
            (name, signer.anchored(&folder))
        })
        .collect();
    for (name, index) in &mut config.index {
        let folder = folder_of(&["index", &name.to_string(), "abi"]);
        index.abi = index.abi.take().map(|abi| abi.anchored(&folder));
    }
    config
}

type Variables = (std::ffi::OsString, std::ffi::OsString);

/// The layers together.
struct Assembled {
    tree: Table,
    /// As far as it could be read.
    config: Config,
    problems: Vec<Problem>,
}

/// Lays the layers on each other and reads the result.
fn assemble(
    path: &Path,
    text: &str,
    variables: impl IntoIterator<Item = Variables>,
    flags: Table,
) -> Assembled {
    let root = schema::inlined();
    let file::Parsed { table: mut tree, mut problems, is_garbled } = file::parse(path, text);
    let (mut environment, more) = environment::layer(variables, &root);
    problems.extend(more);
    // What follows a syntax error is guesswork: problems found in it would mislead.
    if is_garbled {
        problems.extend(schema::refuse_unknown(&mut environment, &root, ""));
        return Assembled { tree, config: Config::default(), problems };
    }
    tree::merge(&mut tree, environment);
    tree::merge(&mut tree, flags);
    problems.extend(schema::refuse_unknown(&mut tree, &root, ""));
    let (config, more) = typed::read(tree.clone());
    problems.extend(more);
    problems.extend(typed::check(&config, &tree));
    Assembled { tree, config, problems }
}

/// Nobody reads more problems at a time than these.
const MAX_SHOWN_PROBLEMS: usize = 50;

/// What is said of a configuration that is not accepted.
pub(crate) fn invalid(mut problems: Vec<Problem>) -> Failure {
    problems.sort_by(|left, right| left.origin.cmp(&right.origin));
    let message = match problems.len() {
        1 => "the configuration has a problem".to_owned(),
        count => format!("the configuration has {count} problems"),
    };
    let more = problems.len().saturating_sub(MAX_SHOWN_PROBLEMS);
    let rest = (more > 0).then(|| format!("… and {more} more"));
    Failure::coded(Code::ConfigInvalid, message)
        .details(problems.iter().take(MAX_SHOWN_PROBLEMS).map(ToString::to_string).chain(rest))
        .hint("`windlass config example` prints a file that is accepted")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::EXAMPLE;
    use crate::config::log::Level;

    fn assemble_with(text: &str, variables: &[(&str, &str)], flags: Table) -> Result<Config, Vec<String>> {
        let variables = variables.iter().map(|(name, text)| (name.into(), text.into()));
        let Assembled { config, problems, .. } = assemble(Path::new("w.toml"), text, variables, flags);
        if problems.is_empty() { Ok(config) } else { Err(problems.iter().map(ToString::to_string).collect()) }
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
    fn what_a_file_means_is_told_beside_what_it_says() {
        let text = "[chain.a]\nid = 1\nrpc = ['http://h']\nworkers = 99999999999999999999\n[chain.b]\nid = 0\nrpc = ['http://h']\n\
            [index.x]\nchain = 'other'\ncontract = '0x12'\nstart = 0\nevents = ['E(adress a)']\n\
            [index.y]\nchain = 'a'\ncontract = '0x0000000000000000000000000000000000000000'\nstart = 0\nevents = ['E()', 'E()']\n";
        let problems = assemble_with(text, &[], Table::new()).expect_err("wrong");
        for told in [
            "w.toml:4: workers: the number is out of range",
            "w.toml:6: chain.b.id: ",
            "w.toml:9: index.x.chain: there is no section `[chain.other]` (hint: known here: a, b)",
            "w.toml:10: index.x.contract: an address is",
            "w.toml:12: index.x.events[0]: ",
            "w.toml:15: index.y.contract: ",
            "w.toml:17: index.y.events: event `E()` is named twice",
        ] {
            assert!(problems.iter().any(|problem| problem.starts_with(told)), "no `{told}` in {problems:#?}");
        }
        assert_eq!(problems.len(), 7, "{problems:#?}");
    }

    #[test]
    fn a_garbled_file_hides_no_variable() {
        let problems = assemble_with("log = [", &[("WINDLASS_LGO__LEVEL", "x")], Table::new());
        let problems = problems.expect_err("wrong");
        assert!(problems.iter().any(|problem| problem.starts_with("WINDLASS_LGO__LEVEL: ")), "{problems:?}");
    }

    #[test]
    fn a_file_that_may_not_be_read_hints_at_rights() {
        let refused = ErrorKind::PermissionDenied.into();
        assert!(unreadable(Path::new("w.toml"), &refused).hint.is_some_and(|hint| hint.contains("right")));
    }

    #[test]
    fn a_great_many_problems_are_counted_and_not_all_shown() {
        let text: String = (0..20_000).map(|n| format!("[sec{n}]\nkey = 1\n")).collect();
        let failure = invalid(assemble(Path::new("w.toml"), &text, [], Table::new()).problems);
        assert_eq!(failure.message, "the configuration has 20000 problems");
        assert_eq!(failure.details.len(), MAX_SHOWN_PROBLEMS + 1);
        assert_eq!(failure.details.last().map(String::as_str), Some("… and 19950 more"));
    }

    #[test]
    fn paths_are_taken_from_where_they_are_written() {
        let located = |text: &str, variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(name, text)| (name.into(), text.into()));
            let file = Path::new("/etc/wind/w.toml");
            let Assembled { tree, config, .. } = assemble(file, text, variables, Table::new());
            let url = anchored(config, &tree, Some(file)).database.url;
            serde_json::to_value(url).expect("text").as_str().expect("text").to_owned()
        };
        let current = std::env::current_dir().expect("a folder");
        let here = format!("sqlite:{}/x.db", current.display());
        assert_eq!(located("database.url = 'sqlite:x.db'", &[]), "sqlite:/etc/wind/x.db");
        assert_eq!(located("database.url = 'sqlite:/x.db'", &[]), "sqlite:/x.db");
        assert_eq!(located("database.url = 'file:x'", &[]), "file:/etc/wind/x");
        assert_eq!(located("", &[]), "sqlite:/etc/wind/windlass.db");
        assert_eq!(located("", &[("WINDLASS_DATABASE__URL", "sqlite:x.db")]), here);
    }

    #[test]
    fn the_example_is_accepted() {
        assemble_with(EXAMPLE, &[], Table::new()).expect("no problems");
    }
}

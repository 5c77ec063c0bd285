//! Where an export goes: standard output, or a file. A file is there whole or not at
//! all: what is not finished has another name, and is gone when it fails.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::Failure;

/// Where rows go.
pub(crate) enum Target {
    /// To standard output.
    Stdout(BufWriter<io::Stdout>),
    /// To a file that takes its name in the end.
    File {
        /// What is written so far.
        file: BufWriter<NamedTempFile>,
        /// The name.
        path: PathBuf,
        /// Whether it may take the place of another.
        force: bool,
    },
}

impl Target {
    /// Standard output, or a file that is not there yet, unless another may be replaced.
    pub(crate) fn open(path: Option<&Path>, force: bool) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self::Stdout(BufWriter::new(io::stdout()))) };
        if !force && path.exists() {
            return Err(unwritable(path, &ErrorKind::AlreadyExists.into()));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let prefix = format!(".{}.", path.file_name().unwrap_or_default().to_string_lossy());
        let file = tempfile::Builder::new()
            .prefix(&prefix)
            .permissions(permissions())
            .tempfile_in(folder)
            .map_err(|error| unwritable(path, &error))?;
        Ok(Self::File { file: BufWriter::new(file), path: path.to_owned(), force })
    }

    /// Gives the file its name.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Stdout(mut out) => Ok(out.flush()?),
            Self::File { file, path, force } => {
                let fail = |error: &io::Error| unwritable(&path, error);
                let file = file.into_inner().map_err(|error| fail(error.error()))?;
                file.as_file().sync_all().map_err(|error| fail(&error))?;
                let named: Result<File, _> =
                    if force { file.persist(&path) } else { file.persist_noclobber(&path) };
                named.map(drop).map_err(|error| fail(&error.error))
            }
        }
    }
}

/// The rights of a new file, as anybody would make it.
fn permissions() -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    std::fs::Permissions::from_mode(0o666)
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::File { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::File { file, .. } => file.flush(),
        }
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let path = path.display();
    match error.kind() {
        ErrorKind::AlreadyExists => {
            Failure::refused(format_args!("`{path}` is there already")).hint("--force replaces it")
        }
        _ => Failure::unexpected(format_args!("cannot write `{path}`: {error}"))
            .hint("check the folder, its rights and its space"),
    }
}

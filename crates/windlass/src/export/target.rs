//! Where an export goes: standard output, a file, or what a device or a pipe leads to.
//! A file is there whole or not at all; nothing else is ever replaced.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::output::file::WholeFile;

/// Where rows go.
pub(crate) struct Target {
    out: Out,
    /// As it was typed; `None` for standard output.
    path: Option<PathBuf>,
}

enum Out {
    /// To standard output.
    Stdout(BufWriter<io::Stdout>),
    /// To a device or a pipe, which stays what it is.
    Through(BufWriter<File>),
    /// To a file that is not there yet.
    New(BufWriter<WholeFile>),
    /// To a file that takes the place of another.
    Instead(BufWriter<WholeFile>),
}

impl Target {
    /// Standard output, or a file that is not there yet, unless another may be replaced.
    /// Links are followed. Opening a pipe waits for somebody who reads.
    pub(crate) fn open(path: Option<&Path>, force: bool) -> Result<Self, Failure> {
        let out = match path {
            None => Ok(Out::Stdout(BufWriter::new(io::stdout()))),
            Some(path) => Out::open(path, force),
        };
        let path = path.map(Path::to_owned);
        match out {
            Ok(out) => Ok(Self { out, path }),
            Err(error) => Err(unwritable(path.as_deref(), error)),
        }
    }

    /// Writes what is left, and gives the file its name.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        self.out.finish().map_err(|error| unwritable(self.path.as_deref(), error))
    }

    /// Whether it is a file, of which nothing is seen before it is whole.
    pub(crate) const fn is_file(&self) -> bool {
        matches!(self.out, Out::New(_) | Out::Instead(_))
    }

    /// Why it could not be written to.
    pub(crate) fn trouble(&self, error: io::Error) -> Failure {
        unwritable(self.path.as_deref(), error)
    }
}

impl Out {
    fn open(path: &Path, force: bool) -> io::Result<Self> {
        let there = match path.metadata() {
            Ok(there) => Some(there.file_type()),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        match there {
            None => WholeFile::begin(path).map(BufWriter::new).map(Self::New),
            Some(kind) if kind.is_dir() => Err(ErrorKind::IsADirectory.into()),
            Some(kind) if !force && !takes_anything(kind) => Err(ErrorKind::AlreadyExists.into()),
            Some(kind) if kind.is_file() => WholeFile::begin(path).map(BufWriter::new).map(Self::Instead),
            Some(_) => OpenOptions::new().write(true).open(path).map(BufWriter::new).map(Self::Through),
        }
    }

    fn finish(self) -> io::Result<()> {
        let whole = |file: BufWriter<WholeFile>| file.into_inner().map_err(|error| error.into_error());
        match self {
            Self::Stdout(mut out) => out.flush(),
            Self::Through(mut out) => out.flush(),
            Self::New(file) => whole(file)?.create(),
            Self::Instead(file) => whole(file)?.replace(),
        }
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Stdout(out) => out,
            Self::Through(out) => out,
            Self::New(file) | Self::Instead(file) => file,
        }
    }
}

/// Whether something loses nothing by being written to: pipes, terminals, `/dev/null`.
fn takes_anything(kind: FileType) -> bool {
    kind.is_fifo() || kind.is_char_device()
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.writer().flush()
    }
}

fn unwritable(path: Option<&Path>, error: io::Error) -> Failure {
    let Some(path) = path.map(Path::display) else { return error.into() };
    match error.kind() {
        ErrorKind::AlreadyExists => {
            Failure::refused(format_args!("`{path}` is there already")).hint("--force replaces it")
        }
        ErrorKind::IsADirectory => {
            Failure::refused(format_args!("`{path}` is a folder")).hint("name a file in it")
        }
        // Whoever read the pipe has seen enough.
        ErrorKind::BrokenPipe => error.into(),
        _ => Failure::refused(format_args!("cannot write `{path}`: {error}"))
            .hint("check the folder, its rights and its space"),
    }
}

//! Payouts of a CSV file or of standard input: all of them, or none, and every line that is wrong
//! is named, also where its key stands for another payout already.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use windlass_core::code::Code;
use windlass_core::payout::desk::{MAX_ASKED, NewPayout};
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::memo::{Memo, Reference};
use windlass_core::payout::request::{IdempotencyKey, VaultRef};
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, Payouts};

use super::create::{key, request};
use crate::config::address::WrittenAddress;
use crate::failure::Failure;
use crate::pay::tokens::Tokens;
use crate::pay::view;

/// The longest file.
const MAX_FILE_BYTES: u64 = 8 << 20;
/// Nobody reads more problems at a time than these.
const MAX_SHOWN: usize = 50;
/// How a file in UTF-8 may begin.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One line of the file. What is left empty was not given.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    to: String,
    amount: String,
    #[serde(default)]
    token: String,
    #[serde(default)]
    key: String,
    #[serde(default)]
    memo: String,
    #[serde(default)]
    reference: String,
}

/// What was read: the payouts, and what is wrong with lines.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Where it was read from, as it is named.
    source: String,
    payouts: Vec<NewPayout>,
    /// The line of each of the payouts.
    lines: Vec<usize>,
    problems: Vec<Problem>,
}

/// What is wrong with a line.
#[derive(Debug)]
struct Problem {
    line: usize,
    why: String,
    /// Whether all that is wrong is that its key stands for another payout.
    is_key_reused: bool,
}

/// Where payouts are read from.
struct Source<'a>(&'a Path);

impl fmt::Display for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_stdin() { f.write_str("standard input") } else { write!(f, "`{}`", self.0.display()) }
    }
}

impl Source<'_> {
    fn is_stdin(&self) -> bool {
        self.0.as_os_str() == "-"
    }

    /// All of it, up to the longest file.
    fn read(&self) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        // One byte more than is taken shows that there is more.
        let read = if self.is_stdin() {
            io::stdin().lock().take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)
        } else {
            // A pipe or a device would be waited for, or never end.
            if !std::fs::metadata(self.0).map_err(|error| error.to_string())?.is_file() {
                return Err("it is no ordinary file: pipe it in with `--csv -`".to_owned());
            }
            let file = File::open(self.0).map_err(|error| error.to_string())?;
            file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)
        };
        read.map_err(|error| error.to_string())?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(format!("it is longer than {MAX_FILE_BYTES} bytes"));
        }
        Ok(bytes)
    }
}

/// Reads a file, or standard input.
pub(super) fn read(path: &Path, tokens: &Tokens, vault: VaultRef) -> Result<Batch, Failure> {
    let source = Source(path);
    let wrong = |why: String| {
        Failure::coded(Code::PayoutRefused, format_args!("cannot read {source}: {why}"))
            .hint("it is CSV with a first line of names: key,to,amount,token,memo,reference")
    };
    let text = source.read().map_err(wrong)?;
    let batch = parse(&text, tokens, vault).map_err(wrong)?;
    Ok(Batch { source: source.to_string(), ..batch })
}

impl Batch {
    /// The payouts, if nothing is wrong with any line. A key that is used between this and creating them
    /// is refused then.
    pub(super) async fn checked(
        mut self,
        tokens: &Tokens,
        ledger: &dyn Payouts,
    ) -> Result<Vec<NewPayout>, Failure> {
        let keys: Vec<IdempotencyKey> = self.payouts.iter().map(|new| new.request.key.clone()).collect();
        let mut known: BTreeMap<IdempotencyKey, Payout> = BTreeMap::new();
        for part in keys.chunks(MAX_PAYOUT_PAGE as usize) {
            let found = ledger.payouts_of_keys(part).await?;
            known.extend(found.into_iter().map(|payout| (payout.request.key.clone(), payout)));
        }
        for (new, line) in self.payouts.iter().zip(&self.lines) {
            let Some(known) = known.get(&new.request.key) else { continue };
            if known.request.parameters_hash() != new.request.parameters_hash() {
                let why = key_reused(tokens, known);
                self.problems.push(Problem { line: *line, why, is_key_reused: true });
            }
        }
        if self.problems.is_empty() { Ok(self.payouts) } else { Err(self.refused()) }
    }

    /// Every wrong line, in the order of the file.
    fn refused(mut self) -> Failure {
        self.problems.sort_by_key(|problem| problem.line);
        let source = &self.source;
        let message = match self.problems.len() {
            1 => format!("a line of {source} is wrong; nothing was asked for"),
            count => format!("{count} lines of {source} are wrong; nothing was asked for"),
        };
        let more = self.problems.len().saturating_sub(MAX_SHOWN);
        let rest = (more > 0).then(|| format!("… and {more} more"));
        let are_keys_reused = self.problems.iter().all(|problem| problem.is_key_reused);
        let code = if are_keys_reused { Code::PayoutKeyReused } else { Code::PayoutRefused };
        let line = |problem: Problem| format!("line {}: {}", problem.line, problem.why);
        let shown = self.problems.into_iter().map(line).take(MAX_SHOWN).chain(rest);
        let failure = Failure::coded(code, message).details(shown);
        if are_keys_reused {
            failure.hint("if both are meant, give the second a key of its own")
        } else {
            failure
        }
    }
}

fn key_reused(tokens: &Tokens, known: &Payout) -> String {
    let request = &known.request;
    let amount = view::amount(tokens, request.token, request.amount);
    format!("key {} was used for payout {}, {amount} to {}", request.key, known.id, request.to)
}

/// The payouts, and what is wrong with lines.
fn parse(text: &[u8], tokens: &Tokens, vault: VaultRef) -> Result<Batch, String> {
    // A spreadsheet may begin its file with a mark of its encoding, which belongs to no name.
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text);
    let names = reader.headers().map_err(|error| error.to_string())?.clone();
    for wanted in ["key", "to", "amount"] {
        if !names.iter().any(|name| name == wanted) {
            return Err(format!("its first line names no column `{wanted}`{}", other_separator(&names)));
        }
    }
    let (mut batch, mut keys) = (Batch::default(), BTreeMap::new());
    for record in reader.records() {
        let position = match &record {
            Ok(record) => record.position(),
            Err(error) => error.position(),
        };
        let line = line_at(text, position.map_or(0, csv::Position::byte));
        let read = record.and_then(|record| record.deserialize::<Line>(Some(&names)));
        let read = read.map_err(|error| plain(&error)).and_then(|row| payout(&row, tokens, vault));
        match read {
            Err(why) => batch.problems.push(Problem { line, why, is_key_reused: false }),
            Ok(new) => {
                let key = &new.request.key;
                if let Some(first) = keys.insert(key.clone(), line) {
                    let why = format!("key {key} stands in line {first} already");
                    batch.problems.push(Problem { line, why, is_key_reused: false });
                } else {
                    batch.payouts.push(new);
                    batch.lines.push(line);
                }
            }
        }
        if batch.payouts.len() > MAX_ASKED {
            return Err(format!("it has more than {MAX_ASKED} payouts: split it"));
        }
    }
    if batch.payouts.is_empty() && batch.problems.is_empty() {
        return Err("it has no payouts".to_owned());
    }
    Ok(batch)
}

/// What to say of a first line that seems to have another separator than the comma.
fn other_separator(names: &csv::StringRecord) -> String {
    let line: Vec<&str> = names.iter().collect();
    let line = line.join(",");
    let known = [(';', "semicolons"), ('\t', "tabs"), ('|', "vertical bars")];
    let found = known.into_iter().find(|(separator, _)| line.contains(*separator));
    found.map_or_else(String::new, |(_, name)| {
        format!(": its columns are separated by {name}; separate them by commas")
    })
}

/// The line of a record that begins at this byte or after the line ends there, counted as an editor
/// does: the reader's own count is one behind where lines end with CRLF.
fn line_at(text: &[u8], byte: u64) -> usize {
    let start = usize::try_from(byte).unwrap_or(usize::MAX).min(text.len());
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let start = start + text[start..].iter().take_while(|byte| is_end(byte)).count();
    let before = &text[..start];
    let feeds = before.iter().filter(|byte| **byte == b'\n').count();
    let lone_returns =
        before.iter().enumerate().filter(|(at, byte)| **byte == b'\r' && before.get(at + 1) != Some(&b'\n'));
    1 + feeds + lone_returns.count()
}

/// What is wrong with a record, without the place, which is told already.
fn plain(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("it has {len} fields, and the first line {expected_len}")
        }
        csv::ErrorKind::Deserialize { err, .. } => err.kind().to_string(),
        csv::ErrorKind::Utf8 { .. } => "it is not UTF-8 text".to_owned(),
        _ => error.to_string(),
    }
}

fn payout(line: &Line, tokens: &Tokens, vault: VaultRef) -> Result<NewPayout, String> {
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let to: WrittenAddress = line.to.parse()?;
    let amount = tokens.whole(&line.amount, given(&line.token).as_deref(), "fill the column `token`")?;
    // Without keys of its own, the file asked for again would be paid again.
    let key =
        given(&line.key).ok_or("it has no key: without one, the same file again would be paid again")?;
    let memo = given(&line.memo).map(Memo::new).transpose().map_err(|error| error.to_string())?;
    let reference = given(&line.reference).map(Reference::new).transpose();
    let reference = reference.map_err(|error| error.to_string())?;
    Ok(NewPayout { request: request(vault, to, &amount, self::key(Some(&key))?)?, memo, reference })
}

//! What an audit found: as text, as JSON, and as a verdict.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;
use windlass_core::code::Code;
use windlass_core::range::BlockRange;
use windlass_core::table::RowKey;
use windlass_engine::collect::audit::{Audited, LeftOut, Phantoms, Proof};
use windlass_engine::collect::compare::Compared;

use crate::config::chain::ChainName;
use crate::failure::Failure;
use crate::output::human;

/// The most differences that are named; all are counted.
const MAX_NAMED: usize = 100;

/// What the audit found.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    chain: ChainName,
    /// From where on, and up to where it came.
    pub(super) blocks: BlockRange,
    proofs: Vec<Proven>,
    missing: u64,
    extra: u64,
    altered: u64,
    /// Rows at blocks that do not exist.
    phantom: u64,
    phantoms_removed: u64,
    differences: Vec<Difference>,
    disputed_blocks: Vec<u64>,
    repaired_blocks: u64,
    /// Told by creations that had been missing.
    contracts_found: u64,
    /// Not looked at, whyever.
    skipped_blocks: u64,
    /// Of those, how many for which reason.
    skipped: BTreeMap<LeftOut, u64>,
    /// Asked for, and not final or not collected yet.
    not_final_blocks: u64,
    /// Where to go on, if it ended early.
    next_block: Option<u64>,
}

/// How many blocks stand on a proof.
#[derive(Debug, Serialize)]
struct Proven {
    by: Proof,
    blocks: u64,
}

/// One row that differs.
#[derive(Debug, Serialize)]
struct Difference {
    what: &'static str,
    table: String,
    block: u64,
    log_index: u32,
}

impl Report {
    /// Nothing found so far in these blocks; so many behind them were asked for and are not final.
    pub(super) const fn new(chain: ChainName, blocks: BlockRange, not_final_blocks: u64) -> Self {
        Self {
            chain,
            blocks,
            proofs: Vec::new(),
            missing: 0,
            extra: 0,
            altered: 0,
            phantom: 0,
            phantoms_removed: 0,
            differences: Vec::new(),
            disputed_blocks: Vec::new(),
            repaired_blocks: 0,
            contracts_found: 0,
            skipped_blocks: 0,
            skipped: BTreeMap::new(),
            not_final_blocks,
            next_block: None,
        }
    }

    /// Adds what was found in a page.
    pub(super) fn add(&mut self, page: Audited) {
        for (by, blocks) in page.proofs {
            match self.proofs.iter_mut().find(|proven| proven.by == by) {
                Some(proven) => proven.blocks += blocks,
                None => self.proofs.push(Proven { by, blocks }),
            }
        }
        for (table, compared) in &page.differences {
            self.missing += compared.missing.len() as u64;
            self.extra += compared.extra.len() as u64;
            self.altered += compared.altered.len() as u64;
            self.name(table.as_str(), compared);
        }
        let room = MAX_NAMED.saturating_sub(self.disputed_blocks.len());
        self.disputed_blocks.extend(page.disputed.into_iter().take(room));
        self.repaired_blocks += page.repaired;
        self.contracts_found += page.contracts_found;
    }

    /// Adds rows at blocks that do not exist.
    pub(super) fn add_phantoms(&mut self, found: &Phantoms) {
        self.phantom += found.count();
        self.phantoms_removed += found.removed;
        for (table, keys) in &found.rows {
            self.name_rows(table.as_str(), keys.iter().map(|key| ("phantom", key)));
        }
    }

    /// Adds blocks that were not looked at.
    pub(super) fn skip(&mut self, left_out: BTreeMap<LeftOut, u64>) {
        for (why, blocks) in left_out {
            self.skipped_blocks += blocks;
            *self.skipped.entry(why).or_default() += blocks;
        }
    }

    /// It ended early: from this block on nothing was looked at.
    pub(super) const fn end_before(&mut self, block: u64) {
        self.next_block = Some(block);
        self.blocks.to = block.saturating_sub(1);
    }

    /// How many blocks were looked at.
    pub(super) fn looked_at(&self) -> u64 {
        self.proofs.iter().map(|proven| proven.blocks).sum()
    }

    fn name(&mut self, table: &str, compared: &Compared) {
        let kinds =
            [("missing", &compared.missing), ("extra", &compared.extra), ("altered", &compared.altered)];
        let rows = kinds.into_iter().flat_map(|(what, keys)| keys.iter().map(move |key| (what, key)));
        self.name_rows(table, rows);
    }

    fn name_rows<'k>(&mut self, table: &str, rows: impl Iterator<Item = (&'static str, &'k RowKey)>) {
        let room = MAX_NAMED.saturating_sub(self.differences.len());
        self.differences.extend(rows.take(room).map(|(what, key)| Difference {
            what,
            table: table.to_owned(),
            block: key.block,
            log_index: key.log_index,
        }));
    }

    pub(super) fn render(&self) -> String {
        let mut text = format!("chain {}, blocks {} to {}\n", self.chain, self.blocks.from, self.blocks.to);
        for proven in &self.proofs {
            let _ = writeln!(text, "  {} blocks {}", human::count(proven.blocks), words(proven.by));
        }
        for (why, blocks) in &self.skipped {
            let _ = writeln!(text, "  {} blocks {}", human::count(*blocks), reason(*why));
        }
        if self.not_final_blocks > 0 {
            let count = human::count(self.not_final_blocks);
            let _ = writeln!(text, "  {count} blocks wait for finality and were left out");
        }
        for row in &self.differences {
            let Difference { what, table, block, log_index } = row;
            let _ = writeln!(text, "  {what}: {table}, block {block}, log {log_index}");
        }
        for block in &self.disputed_blocks {
            let _ = writeln!(text, "  disputed: the endpoints disagree about block {block}");
        }
        if self.phantom > 0 {
            let (count, removed) = (human::count(self.phantom), human::count(self.phantoms_removed));
            let _ = writeln!(text, "  {count} rows are at blocks that do not exist; {removed} were removed");
        }
        if self.contracts_found > 0 {
            let _ = writeln!(
                text,
                "  {} contracts were found that nobody knew of; audit the blocks up to the head too",
                human::count(self.contracts_found)
            );
        }
        let looked_at = self.looked_at();
        let is_partial = self.skipped_blocks + self.not_final_blocks > 0 || self.next_block.is_some();
        let _ = match self.count() {
            _ if looked_at == 0 => writeln!(text, "no block was looked at"),
            0 if is_partial => {
                let count = human::count(looked_at);
                writeln!(
                    text,
                    "nothing is missing, extra or altered in the {count} blocks that were looked at"
                )
            }
            0 => writeln!(text, "nothing is missing, extra or altered"),
            _ => writeln!(
                text,
                "{} missing, {} extra, {} altered; {} blocks repaired",
                self.missing, self.extra, self.altered, self.repaired_blocks
            ),
        };
        text
    }

    const fn count(&self) -> u64 {
        self.missing + self.extra + self.altered
    }

    /// No if something differs that was not repaired, if blocks are missing for good unless
    /// somebody does something, or if there was nothing to look at.
    pub(super) fn verdict(&self) -> Result<(), Failure> {
        let is_repaired = self.count() == 0 || self.repaired_blocks > 0;
        if !self.disputed_blocks.is_empty() || !is_repaired || self.phantom > self.phantoms_removed {
            let failure = Failure::coded(Code::StoreDiffers, "the store differs from the chain");
            return Err(failure.hint("`--repair` collects the blocks that differ anew"));
        }
        if let Some(blocks) = self.skipped.get(&LeftOut::SetAside) {
            let what = format!("{} blocks were given up and not looked at", human::count(*blocks));
            let hint = "`windlass jobs dead` has the reasons, `windlass jobs retry --all` tries them again";
            return Err(Failure::coded(Code::RangesMissing, what).hint(hint));
        }
        if self.looked_at() == 0 {
            let hint = "they are still being collected: `windlass index list` shows how far that is";
            return Err(Failure::refused("no block was looked at").hint(hint));
        }
        Ok(())
    }
}

fn reason(why: LeftOut) -> &'static str {
    match why {
        LeftOut::Collecting => "are still being collected and were left out",
        LeftOut::SetAside => "were set aside after ten attempts and left out: `windlass jobs retry --all`",
    }
}

fn words(proof: Proof) -> &'static str {
    match proof {
        Proof::Receipts => "proven by their receipts",
        Proof::Bloom => "proven to be without wanted logs by their blooms",
        Proof::Header => "proven by their headers",
        Proof::TwoEndpoints => "told alike by two endpoints",
        Proof::OneEndpoint => "told by one endpoint only",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(looked_at: u64) -> Report {
        let chain = ChainName::try_from("local".to_owned()).expect("a name");
        let mut report = Report::new(chain, BlockRange { from: 1, to: 100 }, 0);
        report.add(Audited { proofs: BTreeMap::from([(Proof::Receipts, looked_at)]), ..Audited::default() });
        report
    }

    fn told(report: &Report) -> (String, Option<Option<Code>>) {
        let last = report.render().lines().last().map(str::to_owned);
        (last.unwrap_or_default(), report.verdict().err().map(|failure| failure.code))
    }

    #[test]
    fn only_what_was_looked_at_is_vouched_for() {
        assert_eq!(told(&report(100)), ("nothing is missing, extra or altered".to_owned(), None));

        let mut collecting = report(60);
        collecting.skip(BTreeMap::from([(LeftOut::Collecting, 40)]));
        let partly =
            |count| format!("nothing is missing, extra or altered in the {count} blocks that were looked at");
        assert_eq!(told(&collecting), (partly(60), None), "more will come by itself");

        let mut dead = report(60);
        dead.skip(BTreeMap::from([(LeftOut::SetAside, 40)]));
        assert_eq!(told(&dead), (partly(60), Some(Some(Code::RangesMissing))));
        assert!(dead.render().contains("40 blocks were set aside after ten attempts"), "{}", dead.render());

        let mut none = report(0);
        none.skip(BTreeMap::from([(LeftOut::Collecting, 100)]));
        assert_eq!(told(&none), ("no block was looked at".to_owned(), Some(None)));
    }

    #[test]
    fn an_audit_that_ended_early_says_how_far_it_came() {
        let mut early = report(60);
        early.end_before(61);
        assert!(early.render().starts_with("chain local, blocks 1 to 60\n"), "{}", early.render());
        assert!(early.render().ends_with("in the 60 blocks that were looked at\n"), "{}", early.render());
    }
}

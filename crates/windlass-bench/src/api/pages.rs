//! Asks for pages, newest row first, over one connection.

use std::time::{Duration, Instant};

use serde::Deserialize;
use windlass_devnet::synthetic::SyntheticNode;

use crate::fees;

/// How many rows a page has on the way to a deep one.
const WALKED_ROWS: u64 = 1_000;

type Broken = Box<dyn std::error::Error>;

/// The API, as a client sees it, and what it ought to say.
pub(super) struct Pages {
    client: reqwest::Client,
    base: String,
    truth: SyntheticNode,
}

#[derive(Deserialize)]
struct Page {
    data: Vec<Row>,
    page: Position,
}

#[derive(Deserialize)]
struct Row {
    block_number: u64,
    log_index: u64,
    transaction_hash: String,
}

#[derive(Deserialize)]
struct Position {
    next_cursor: Option<String>,
}

impl Pages {
    pub(super) fn new(url: &str, truth: SyntheticNode) -> Result<Self, Broken> {
        // One question at a time, each answer read to its end: the same connection every time.
        let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(1).build()?;
        Ok(Self { client, base: format!("{url}/api/v1/events/{}", fees::PATH), truth })
    }

    pub(super) fn url(&self, limit: u32, cursor: Option<&str>) -> String {
        let cursor = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        format!("{}?limit={limit}{cursor}", self.base)
    }

    /// Goes from page to page until so many rows lie behind; returns the cursor there.
    pub(super) async fn walk(&self, rows: u64) -> Result<String, Broken> {
        let mut cursor: Option<String> = None;
        let mut passed = 0;
        while passed < rows {
            let limit = u32::try_from(WALKED_ROWS.min(rows - passed))?;
            let page = self.page(&self.url(limit, cursor.as_deref())).await?;
            passed += page.data.len() as u64;
            cursor = Some(page.page.next_cursor.ok_or("there are fewer rows than the deep page wants")?);
        }
        cursor.ok_or_else(|| "the deep page is the first one".into())
    }

    /// How long it takes until a page is there, to its last byte.
    pub(super) async fn ask(&self, url: &str) -> Result<Duration, Broken> {
        let begun = Instant::now();
        let body = self.client.get(url).send().await?.error_for_status()?.bytes().await?;
        let took = begun.elapsed();
        if body.is_empty() { Err("an empty page".into()) } else { Ok(took) }
    }

    /// An error unless the page begins this many rows behind the newest.
    pub(super) async fn assert_begins(&self, url: &str, behind: u64) -> Result<(), Broken> {
        let page = self.page(url).await?;
        let found = page.data.first().ok_or("an empty page")?;
        let wanted = self.truth.log(self.truth.log_count() - 1 - behind);
        let is_right = found.block_number == wanted.block_number
            && found.log_index == wanted.log_index
            && found.transaction_hash == wanted.transaction_hash.to_string();
        if is_right { Ok(()) } else { Err(format!("a page begins at block {}", found.block_number).into()) }
    }

    async fn page(&self, url: &str) -> Result<Page, Broken> {
        let body = self.client.get(url).send().await?.error_for_status()?.bytes().await?;
        Ok(serde_json::from_slice(&body)?)
    }
}

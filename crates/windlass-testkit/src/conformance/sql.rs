//! Statements that a person writes: amounts are exact, compare and sort as numbers, and read
//! the same on every store.

use std::slice::from_ref;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::chain::U256;
use windlass_core::commit::Write;
use windlass_core::sql::statement::Statement;
use windlass_core::sql::{SqlCut, SqlError, SqlQuery, SqlReader, SqlRows, SqlValue};
use windlass_core::table::{EventRow, I256, Value};

use super::support::{Well, write};
use crate::harness::SqlHarness;
use crate::make::{row, rows, table};

/// Longer than any statement here takes.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A database that is asked in SQL.
pub(super) struct Asked<'a> {
    pub(super) harness: &'a dyn SqlHarness,
    pub(super) reader: Arc<dyn SqlReader>,
}

impl<'a> Asked<'a> {
    pub(super) async fn open(harness: &'a dyn SqlHarness) -> Self {
        Self { harness, reader: harness.open_sql().await }
    }

    /// What a statement returns.
    pub(super) async fn run(&self, sql: &str, timeout: Duration, max_rows: u32) -> Result<SqlRows, SqlError> {
        let statement = Statement::parse(sql, self.harness.dialect())?;
        self.reader.run_sql(&SqlQuery { statement, timeout, max_rows }).await
    }

    /// Its rows, as text.
    pub(super) async fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        match self.run(sql, TIMEOUT, 1_000).await {
            Ok(found) => found.rows.iter().map(|row| row.iter().map(shown).collect()).collect(),
            Err(error) => panic!("{sql}: {error}"),
        }
    }

    /// Its only row.
    pub(super) async fn row(&self, sql: &str) -> Vec<String> {
        let mut rows = self.rows(sql).await;
        assert_eq!(rows.len(), 1, "{sql}: {rows:?}");
        rows.remove(0)
    }

    /// Its only column.
    pub(super) async fn column(&self, sql: &str) -> Vec<String> {
        self.rows(sql).await.into_iter().flatten().collect()
    }

    /// Why it is refused.
    pub(super) async fn refusal(&self, sql: &str) -> String {
        match self.run(sql, TIMEOUT, 10).await {
            Ok(found) => panic!("{sql} returned {found:?}"),
            Err(error) => error.to_string(),
        }
    }
}

fn shown(value: &SqlValue) -> String {
    match value {
        SqlValue::Null => "NULL".to_owned(),
        SqlValue::Integer(number) => number.to_string(),
        SqlValue::Bool(flag) => flag.to_string(),
        SqlValue::Real(text) | SqlValue::Text(text) => text.clone(),
    }
}

/// A table `t` with a row a block, whose values are changed first.
pub(super) async fn fill(harness: &dyn SqlHarness, count: u64, change: impl Fn(u64, &mut Vec<Value>)) {
    let store = harness.open().await;
    let spec = table("t", 1);
    store.create_tables(from_ref(&spec)).await.well();
    let changed = |number| {
        let mut row: EventRow = row(number, number as u32, 1);
        change(number, &mut row.values);
        row
    };
    write(&*store, vec![Write::Rows(rows(&spec, (0..count).map(changed)))]).await;
}

fn int(number: i64) -> I256 {
    I256::try_from(number).expect("it fits")
}

pub async fn sums_are_exact_beyond_256_bits(harness: &dyn SqlHarness) {
    fill(harness, 10, |number, values| {
        values[0] = Value::Integer(if number < 9 { i64::MAX } else { -1 });
        values[1] = Value::Uint(U256::MAX);
        values[2] = Value::Int(if number == 0 { I256::MAX } else { I256::MIN });
    })
    .await;
    let asked = Asked::open(harness).await;
    // Ten times 2^256 − 1, and 2^255 − 1 less nine times 2^255.
    let ten_times = "1157920892373161954235709850086879078532699846656405640394575840079131296399350";
    let below_zero = "-463168356949264781694283940034751631413079938662562256157830336031652518559745";
    for name in ["t", "t_view"] {
        let sums = format!("SELECT sum(small), sum(amount), sum(delta), count(*) FROM {name}");
        assert_eq!(asked.row(&sums).await, ["83010348331692982262", ten_times, below_zero, "10"]);
        let ends = format!("SELECT min(amount), max(amount), min(delta), max(delta) FROM {name}");
        let [max, lowest, highest] = [U256::MAX.to_string(), I256::MIN.to_string(), I256::MAX.to_string()];
        assert_eq!(asked.row(&ends).await, [&*max, &*max, &*lowest, &*highest]);
    }
    // A sum of sums is as exact.
    let sum_of_sums = "SELECT sum(s) FROM (SELECT sum(amount) AS s FROM t GROUP BY block_number % 2) AS x";
    assert_eq!(asked.row(sum_of_sums).await, [ten_times]);
}

pub async fn averages_are_exact_and_the_same_everywhere(harness: &dyn SqlHarness) {
    fill(harness, 9, |number, values| {
        values[0] = Value::Integer(number as i64 * 1_000 - 1);
        values[1] = Value::Uint((U256::ONE << (number * 31)) - U256::ONE);
        values[2] = Value::Int(-int(number as i64).pow(U256::from(7)));
    })
    .await;
    let asked = Asked::open(harness).await;
    let of =
        |many: u64| format!("SELECT avg(small), avg(amount), avg(delta) FROM t WHERE block_number < {many}");
    assert_eq!(asked.row(&of(1)).await, ["-1", "0", "0"]);
    assert_eq!(asked.row(&of(2)).await, ["499", "1073741823.5", "-0.5"]);
    assert_eq!(asked.row(&of(3)).await, ["999", "1537228673524957183", "-43"]);
    assert_eq!(
        asked.row(&of(7)).await,
        ["2999", "14011387808726973303256081981992444722762684195464544255", "-53823"]
    );
    let thirds = "SELECT avg(log_index), avg(-log_index) FROM t WHERE block_number IN (0, 1, 3)";
    assert_eq!(asked.row(thirds).await, ["1.3333333333333333", "-1.3333333333333333"]);
}

pub async fn amounts_compare_and_sort_as_numbers(harness: &dyn SqlHarness) {
    // 0, 1, 1000, 10^6, … 10^27, and the same below zero.
    fill(harness, 11, |number, values| {
        let power = |digits: u64| U256::from(10).pow(U256::from(digits));
        let amount = if number == 0 { U256::ZERO } else { power((number - 1) * 3) };
        values[1] = Value::Uint(amount);
        values[2] = Value::Int(-I256::from_raw(amount));
    })
    .await;
    let asked = Asked::open(harness).await;
    let blocks = |rest: &str| format!("SELECT block_number FROM t_view {rest}");
    let numbers = |range: std::ops::Range<u64>| range.map(|number| number.to_string()).collect::<Vec<_>>();
    assert_eq!(asked.column(&blocks("ORDER BY amount")).await, numbers(0..11));
    assert_eq!(asked.column(&blocks("ORDER BY delta DESC")).await, numbers(0..11));
    assert_eq!(asked.column(&blocks("ORDER BY amount LIMIT 3")).await, numbers(0..3));
    let conditions = [
        ("amount > 999", 2..11),
        ("1000 < amount", 3..11),
        ("amount >= 1000000000000000000000", 8..11),
        ("amount > 1000000000000000000001", 9..11),
        ("amount > '1000000000000000000001'", 9..11),
        ("amount BETWEEN 1 AND 1000", 1..3),
        ("amount IN (1, 1000)", 1..3),
        ("amount = 0", 0..1),
        ("delta < '-999999999999999999999'", 8..11),
        ("delta <= -1000000000000000000", 7..11),
        ("amount = (SELECT max(amount) FROM t)", 10..11),
        ("amount > (SELECT avg(amount) FROM t)", 10..11),
        ("amount = abs(small) AND small = 0", 0..0),
    ];
    for (condition, expected) in conditions {
        let found = asked.column(&blocks(&format!("WHERE {condition} ORDER BY block_number"))).await;
        assert_eq!(found, numbers(expected), "{condition}");
    }
    let distinct = "SELECT count(DISTINCT amount), count(DISTINCT delta) FROM t";
    assert_eq!(asked.row(distinct).await, ["11", "11"]);
}

pub async fn sums_compare_and_sort_as_numbers(harness: &dyn SqlHarness) {
    // Group g has one row of each of 10^(9 g) and twice that: the sums are 3, 3·10^9, 3·10^18, …
    fill(harness, 10, |number, values| {
        let (group, times) = (number / 2, number % 2 + 1);
        values[0] = Value::Integer(group as i64);
        values[1] = Value::Uint(U256::from(10).pow(U256::from(group * 9)) * U256::from(times));
    })
    .await;
    let asked = Asked::open(harness).await;
    let groups = |rest: &str| format!("SELECT small FROM t GROUP BY small {rest}");
    for order in ["sum(amount)", "max(amount)", "min(amount)", "avg(amount)"] {
        let found = asked.column(&groups(&format!("ORDER BY {order} DESC"))).await;
        assert_eq!(found, ["4", "3", "2", "1", "0"], "{order}");
    }
    for (having, expected) in [
        ("sum(amount) > 3000000000", &["2", "3", "4"][..]),
        ("sum(amount) >= 3000000000000000000000000000", &["3", "4"]),
        ("sum(amount) > 3000000000000000000000000000", &["4"]),
        ("max(amount) < 3", &["0"]),
    ] {
        let found = asked.column(&groups(&format!("HAVING {having} ORDER BY small"))).await;
        assert_eq!(found, expected, "{having}");
    }
    let named = "SELECT small FROM (SELECT small, sum(amount) AS total FROM t GROUP BY small) AS x
                 WHERE total > 20 ORDER BY total DESC";
    assert_eq!(asked.column(named).await, ["4", "3", "2", "1"]);
    let named = "WITH x AS (SELECT small, sum(amount) AS total FROM t GROUP BY small)
                 SELECT max(total), count(*) FROM x WHERE total < 1000000000000000000000000000";
    assert_eq!(asked.row(named).await, ["3000000000000000000", "3"]);
    // What is no amount stays an integer.
    let found = asked.run("SELECT max(block_number) AS b FROM t", TIMEOUT, 1).await.expect("rows");
    assert_eq!((found.columns, found.rows), (vec!["b".to_owned()], vec![vec![SqlValue::Integer(9)]]));
}

pub async fn windows_are_exact_too(harness: &dyn SqlHarness) {
    fill(harness, 4, |number, values| {
        values[1] = Value::Uint(U256::MAX - U256::from(number));
        values[2] = Value::Int(-int(number as i64));
    })
    .await;
    let asked = Asked::open(harness).await;
    let max = U256::MAX;
    let running = "SELECT sum(delta) OVER (ORDER BY block_number) FROM t ORDER BY block_number";
    assert_eq!(asked.column(running).await, ["0", "-1", "-3", "-6"]);
    let moving = "SELECT sum(delta) OVER (ORDER BY block_number ROWS BETWEEN 1 PRECEDING AND CURRENT ROW),
                      sum(amount) OVER (ORDER BY block_number ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) > amount
                  FROM t ORDER BY block_number";
    let found = asked.rows(moving).await;
    let deltas: Vec<&str> = found.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(deltas, ["0", "-1", "-3", "-5"]);
    let above: Vec<bool> = found.iter().map(|row| ["1", "true"].contains(&row[1].as_str())).collect();
    assert_eq!(above, [false, true, true, true]);
    let before = "SELECT lag(amount) OVER (ORDER BY block_number) FROM t ORDER BY block_number LIMIT 2";
    assert_eq!(asked.column(before).await, ["NULL".to_owned(), max.to_string()]);
    let falling =
        "SELECT count(*) FROM (SELECT amount, lag(amount) OVER (ORDER BY block_number) AS before FROM t)
                   AS x WHERE amount < before";
    assert_eq!(asked.row(falling).await, ["3"]);
}

pub async fn values_that_are_missing_are_skipped(harness: &dyn SqlHarness) {
    fill(harness, 3, |number, values| values[1] = Value::Uint(U256::MAX - U256::from(number))).await;
    let asked = Asked::open(harness).await;
    let nothing = "SELECT sum(amount), min(amount), max(amount), avg(amount), count(amount) FROM t
                   WHERE block_number > 99";
    assert_eq!(asked.row(nothing).await, ["NULL", "NULL", "NULL", "NULL", "0"]);
    let instead = "SELECT coalesce(sum(amount), 0) FROM t WHERE block_number > 99";
    assert_eq!(asked.row(instead).await, ["0"]);
    let some = "SELECT sum(CASE WHEN block_number = 1 THEN amount END), count(*),
                    sum(amount) FILTER (WHERE block_number = 2)
                FROM t";
    let [one, two] = [1, 2].map(|number| (U256::MAX - U256::from(number)).to_string());
    assert_eq!(asked.row(some).await, [&*one, "3", &*two]);
    let joined = "SELECT x.amount IS NULL FROM t LEFT JOIN t AS x ON x.block_number = t.block_number + 1
                  ORDER BY t.block_number DESC LIMIT 1";
    assert!(["1", "true"].contains(&&*asked.row(joined).await[0]));
}

pub async fn bytes_are_lower_case_text_and_are_found_in_any_case(harness: &dyn SqlHarness) {
    let token: windlass_core::chain::Address =
        "0xbD6C7B0d2f68c2b7805d88388319cfB6EcB50eA9".parse().expect("an address");
    fill(harness, 3, |number, values| {
        values[5] = Value::Bytes(vec![0xab; number as usize].into());
        if number == 1 {
            values[4] = Value::Address(token);
        }
    })
    .await;
    let asked = Asked::open(harness).await;
    let lower = token.to_string().to_lowercase();
    for name in ["t", "t_view"] {
        // As a wallet shows it, in mixed case.
        let found = format!("SELECT who, raw, block_number FROM {name} WHERE who = '{token}'");
        assert_eq!(asked.row(&found).await, [&*lower, "0xab", "1"]);
        let bytes = format!("SELECT raw FROM {name} ORDER BY block_number");
        assert_eq!(asked.column(&bytes).await, ["0x", "0xab", "0xabab"]);
        let hashes = format!("SELECT block_hash, transaction_hash FROM {name}");
        for hash in asked.column(&hashes).await {
            assert!(hash.len() == 66 && hash.starts_with("0x") && hash == hash.to_lowercase(), "{hash}");
        }
    }
}

pub async fn rows_are_cut_at_the_limit(harness: &dyn SqlHarness) {
    fill(harness, 5, |_, _| {}).await;
    let asked = Asked::open(harness).await;
    for (max_rows, count, cut) in
        [(4, 4, Some(SqlCut::Rows)), (5, 5, None), (6, 5, None), (0, 0, Some(SqlCut::Rows))]
    {
        let found = asked.run("SELECT small AS s, amount FROM t", TIMEOUT, max_rows).await.expect("rows");
        assert_eq!((found.rows.len(), found.cut), (count, cut), "at most {max_rows}");
        assert_eq!(found.columns, ["s", "amount"]);
    }
}

//! A statement's rows as they are shown: through a cursor, so that no more are read than
//! are wanted, and as the server's own text.

use deadpool_postgres::ClientWrapper;
use futures_util::{StreamExt, pin_mut};
use tokio_postgres::types::Type;
use tokio_postgres::{SimpleQueryMessage, SimpleQueryRow};
use windlass_core::sql::{MAX_SQL_BYTES, SqlCut, SqlRows, SqlValue};

use super::Failed;

/// Runs a statement that was found to be one query.
pub(super) async fn fetch(
    client: &ClientWrapper,
    statement: &str,
    columns: &[(String, Type)],
    max_rows: u32,
) -> Result<SqlRows, Failed> {
    if columns.is_empty() {
        return Err(Failed::Refused("only a statement that returns columns is run".to_owned()));
    }
    // The extended protocol takes one statement, whatever is in the text.
    client.execute(&format!("DECLARE windlass_sql NO SCROLL CURSOR FOR {statement}"), &[]).await?;
    let fetch = format!("FETCH FORWARD {} FROM windlass_sql", u64::from(max_rows) + 1);
    let messages = client.simple_query_raw(&fetch).await?;
    pin_mut!(messages);
    let (mut rows, mut bytes, mut cut) = (Vec::new(), 0, None);
    while let Some(message) = messages.next().await {
        let SimpleQueryMessage::Row(row) = message? else { continue };
        if rows.len() as u64 == u64::from(max_rows) {
            cut = Some(SqlCut::Rows);
            break;
        }
        let cells = cells(&row, columns);
        bytes += cells.iter().map(SqlValue::bytes).sum::<usize>();
        if bytes > MAX_SQL_BYTES {
            cut = Some(SqlCut::Bytes);
            break;
        }
        rows.push(cells);
    }
    Ok(SqlRows { columns: columns.iter().map(|(name, _)| name.clone()).collect(), rows, cut })
}

fn cells(row: &SimpleQueryRow, columns: &[(String, Type)]) -> Vec<SqlValue> {
    let cell = |(place, (_, kind)): (usize, &(String, Type))| {
        row.get(place).map_or(SqlValue::Null, |text| value(text, kind))
    };
    columns.iter().enumerate().map(cell).collect()
}

fn value(text: &str, kind: &Type) -> SqlValue {
    let text_of = || SqlValue::Text(text.to_owned());
    match *kind {
        Type::INT2 | Type::INT4 | Type::INT8 => text.parse().map_or_else(|_| text_of(), SqlValue::Integer),
        Type::BOOL => SqlValue::Bool(text == "t"),
        Type::FLOAT4 | Type::FLOAT8 => SqlValue::Real(text.to_owned()),
        Type::NUMERIC => SqlValue::Text(without_zeros(text).to_owned()),
        Type::BYTEA => SqlValue::Text(text.replacen("\\x", "0x", 1)),
        _ => text_of(),
    }
}

/// A number without zeros at the end of its decimals.
fn without_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_as_sqlite_shows_them() {
        let shown = [
            ("7", Type::INT8, SqlValue::Integer(7)),
            ("t", Type::BOOL, SqlValue::Bool(true)),
            ("1.50", Type::NUMERIC, SqlValue::Text("1.5".to_owned())),
            ("100", Type::NUMERIC, SqlValue::Text("100".to_owned())),
            ("3.000", Type::NUMERIC, SqlValue::Text("3".to_owned())),
            ("\\x00ff", Type::BYTEA, SqlValue::Text("0x00ff".to_owned())),
            ("1.50", Type::TEXT, SqlValue::Text("1.50".to_owned())),
        ];
        for (text, kind, expected) in shown {
            assert_eq!(value(text, &kind), expected);
        }
    }
}

//! A fee log, read in place from the answer it came in, as far as a table wants it.

use super::text::{Text, Unreadable};
/// The columns of the table, as bytes.
#[derive(Default)]
pub(super) struct Row {
    pub(super) block_number: i64,
    pub(super) log_index: i64,
    pub(super) block_hash: [u8; 32],
    pub(super) timestamp_s: i64,
    pub(super) transaction_hash: [u8; 32],
    pub(super) address: [u8; 20],
    pub(super) token: [u8; 20],
    pub(super) integrator: [u8; 20],
    pub(super) fees: [[u8; 32]; 2],
}

/// Reads an answer to `eth_getLogs`, one log after another: no list of them comes to be.
pub(super) fn each(body: &[u8], mut take: impl FnMut(Row)) -> Result<(), Unreadable> {
    let (mut text, mut is_answered) = (Text::new(body), false);
    text.members(|text, name| {
        if name != b"result" {
            return text.skip();
        }
        is_answered = true;
        text.elements(|text| {
            take(row(text)?);
            Ok(())
        })
    })?;
    if is_answered && text.is_over() { Ok(()) } else { Err("no answer, or more than one".into()) }
}

/// The logs of an answer as rows.
pub(super) fn rows(body: &[u8]) -> Result<Vec<Row>, Unreadable> {
    let mut rows = Vec::new();
    each(body, |row| rows.push(row))?;
    Ok(rows)
}

/// Every member that a row is made of has been there.
const WHOLE: u32 = (1 << 8) - 1;

fn row(text: &mut Text<'_>) -> Result<Row, Unreadable> {
    let (mut row, mut seen) = (Row::default(), 0_u32);
    text.members(|text, name| {
        let member = match name {
            b"address" => text.hex(&mut row.address).map(|()| 0),
            b"topics" => topics(text, &mut row).map(|()| 1),
            b"data" => text.hex(row.fees.as_flattened_mut()).map(|()| 2),
            b"blockNumber" => text.number(&mut row.block_number).map(|()| 3),
            b"transactionHash" => text.hex(&mut row.transaction_hash).map(|()| 4),
            b"blockHash" => text.hex(&mut row.block_hash).map(|()| 5),
            b"blockTimestamp" => text.number(&mut row.timestamp_s).map(|()| 6),
            b"logIndex" => text.number(&mut row.log_index).map(|()| 7),
            _ => return text.skip(),
        };
        seen |= 1 << member?;
        Ok(())
    })?;
    if seen == WHOLE { Ok(row) } else { Err("a log without all of its members".into()) }
}

/// The event's name and its two indexed addresses.
fn topics(text: &mut Text<'_>, row: &mut Row) -> Result<(), Unreadable> {
    let mut count = 0;
    text.elements(|text| {
        let digits = text.digits(64)?;
        let address = match count {
            0 => None,
            1 => Some(&mut row.token),
            2 => Some(&mut row.integrator),
            _ => return Err("too many topics".into()),
        };
        count += 1;
        if let Some(address) = address {
            alloy_primitives::hex::decode_to_slice(&digits[24..], address)?;
        }
        Ok(())
    })?;
    if count == 3 { Ok(()) } else { Err("too few topics".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(byte: &str) -> String {
        format!("0x{}", byte.repeat(32))
    }

    /// Members in another order than a node's, spread out, among others that nobody wants.
    fn answer() -> String {
        format!(
            r#" {{ "id" : [1, {{"a": "]}}\\\""}}], "result" : [ {{ "logIndex":"0x3", "removed":false,
                "blockTimestamp":"0x65", "more":{{"x":[null,-1.5e3,"\"}}"]}}, "empty":[ ], "none":{{}},
                "topics":[ "{topic}", "{token}" , "{integrator}" ], "data":"{data}",
                "blockHash":"{block}", "address":"0x{address}", "transactionHash":"{transaction}",
                "blockNumber":"0x1F" }} ], "jsonrpc":"2.0" }} "#,
            topic = word("aa"),
            token = word("0b"),
            integrator = word("0c"),
            data = format_args!("{}{}", word("01"), "02".repeat(32)),
            block = word("03"),
            address = "04".repeat(20),
            transaction = word("05"),
        )
    }

    #[test]
    fn a_log_is_read_in_any_order_among_other_members() {
        let rows = rows(answer().as_bytes()).expect("an answer");
        let [row] = &rows[..] else { panic!("{} rows", rows.len()) };
        assert_eq!((row.block_number, row.log_index, row.timestamp_s), (31, 3, 101));
        assert_eq!((row.block_hash, row.transaction_hash), ([3; 32], [5; 32]));
        assert_eq!((row.address, row.token, row.integrator), ([4; 20], [0x0b; 20], [0x0c; 20]));
        assert_eq!(row.fees, [[1; 32], [2; 32]]);
    }

    #[test]
    fn an_answer_without_logs_has_no_rows() {
        assert!(rows(br#"{"jsonrpc":"2.0","id":1,"result":[]}"#).expect("an answer").is_empty());
    }

    #[test]
    fn what_is_no_log_is_refused() {
        let answer = answer();
        let topic = format!("\"{}\" ,", word("0b"));
        for (right, wrong) in [
            ("\"result\"", "\"error\""),
            ("\"logIndex\"", "\"logindex\""),
            ("\"0x3\"", "\"0x\""),
            ("\"0x3\"", "\"3\""),
            ("\"0x3\"", "\"0xg\""),
            ("\"0x3\"", "\"0x8000000000000000\""),
            ("\"0x3\"", "3"),
            ("0404\"", "04\""),
            ("0404\"", "040404\""),
            ("0404\"", "040g\""),
            (&topic, ""),
            (&topic, &topic.repeat(2)),
            ("\"removed\":", "\"removed\" "),
            ("\"removed\":false", "\"removed\":"),
            ("\"jsonrpc\":\"2.0\" }", "\"jsonrpc\":\"2.0\" }}"),
            ("\"jsonrpc\":\"2.0\" }", "\"jsonrpc\":\"2.0\\"),
        ] {
            let changed = answer.replacen(right, wrong, 1);
            assert_ne!(changed, answer, "{right}");
            assert!(rows(changed.as_bytes()).is_err(), "{right} became {wrong}");
        }
        for end in 0..answer.trim_end().len() {
            assert!(rows(&answer.as_bytes()[..end]).is_err(), "cut off after {end}");
        }
    }
}

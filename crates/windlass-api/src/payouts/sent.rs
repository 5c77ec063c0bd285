//! Bodies, headers and parameters, field by field. Nothing that is not known is passed over.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use serde_json::{Map, Value};
use windlass_core::payout::desk::MAX_ASKED;

use super::asked::{Draft, invalid_field};
use super::json::Unambiguous;
use crate::error::{ApiError, ApiResult, ErrorCode};
use crate::filter::shown;

/// What a payout's fields are called.
const DRAFT: [&str; 6] = ["to", "amount", "token", "idempotencyKey", "memo", "reference"];
/// How a payout is asked for.
const ASK: &str =
    r#"send {"to": "0x…", "amount": "1000000", "token": "USDC", "idempotencyKey": "…"}, or {"payouts": […]}"#;

/// The parameters of a URL, each known and given once.
#[derive(Debug)]
pub(super) struct Params(Vec<(String, String)>);

impl Params {
    pub(super) fn read(pairs: Vec<(String, String)>, own: &[&str]) -> ApiResult<Self> {
        for (at, (name, _)) in pairs.iter().enumerate() {
            if !own.contains(&name.as_str()) {
                let told = format!("parameter `{}` is not known", shown(name));
                return Err(
                    ApiError::new(ErrorCode::UnknownParameter, told).nearest(name, own.iter().copied())
                );
            }
            if pairs[..at].iter().any(|(other, _)| other == name) {
                return Err(ApiError::invalid(name, "it is given twice"));
            }
        }
        Ok(Self(pairs))
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// One that is a number between 1 and `most`.
    pub(super) fn number(&self, name: &str, default: u32, most: u32) -> ApiResult<u32> {
        let Some(text) = self.get(name) else { return Ok(default) };
        let number = text.parse().ok().filter(|number| (1..=most).contains(number));
        number.ok_or_else(|| {
            ApiError::invalid(name, format!("`{}` is not a number from 1 to {most}", shown(text)))
        })
    }

    /// One that is `true` or `false`; false when it is not given.
    pub(super) fn flag(&self, name: &str) -> ApiResult<bool> {
        match self.get(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(text) => {
                Err(ApiError::invalid(name, format!("`{}` is neither `true` nor `false`", shown(text))))
            }
        }
    }
}

/// The fields of a body.
#[derive(Debug, Default)]
pub(super) struct Fields {
    fields: Map<String, Value>,
    /// Where they stand, such as `payouts[3].`.
    prefix: String,
}

impl Fields {
    /// Reads a body that is one object of JSON. Without a body there are no fields.
    pub(super) async fn read(request: Request) -> ApiResult<Self> {
        let is_json = is_json(request.headers());
        let bytes = Bytes::from_request(request, &()).await.map_err(|rejection| {
            let is_long = rejection.status() == StatusCode::PAYLOAD_TOO_LARGE;
            let code = if is_long { ErrorCode::BodyTooLarge } else { ErrorCode::InvalidBody };
            ApiError::new(
                code,
                if is_long { "the body is too long".to_owned() } else { rejection.body_text() },
            )
        })?;
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        if !is_json {
            let told = "the body is not declared as JSON";
            return Err(ApiError::new(ErrorCode::InvalidBody, told)
                .hint("send it with `Content-Type: application/json`"));
        }
        match serde_json::from_slice(&bytes) {
            Ok(Unambiguous(Value::Object(fields))) => Ok(Self { fields, prefix: String::new() }),
            Ok(_) => Err(ApiError::new(ErrorCode::InvalidBody, "the body is not an object of JSON")),
            Err(error) => Err(ApiError::new(
                ErrorCode::InvalidBody,
                format!("the body cannot be read as JSON: {error}"),
            )),
        }
    }

    /// Refuses fields that are not among these.
    pub(super) fn only(self, own: &[&str]) -> ApiResult<Self> {
        match self.fields.keys().find(|name| !own.contains(&name.as_str())) {
            None => Ok(self),
            Some(name) => {
                let told = format!("field `{}{}` is not known", self.prefix, shown(name));
                let error = ApiError::new(ErrorCode::InvalidBody, told).nearest(name, own.iter().copied());
                Err(error.or_hint(|| format!("there are {}", own.join(", "))))
            }
        }
    }

    /// A text, if it is there.
    pub(super) fn text(&self, name: &str) -> ApiResult<Option<String>> {
        match self.fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(_)) => {
                let error = invalid_field(&format!("{}{name}", self.prefix), "it is a number, not a string");
                Err(error.hint("write it in quotes: numbers of JSON lose digits"))
            }
            Some(_) => Err(invalid_field(&format!("{}{name}", self.prefix), "it is not a string")),
        }
    }

    /// A text that has to be there.
    pub(super) fn needed(&self, name: &str) -> ApiResult<String> {
        self.text(name)?.ok_or_else(|| invalid_field(&format!("{}{name}", self.prefix), "it is missing"))
    }

    /// The payouts that a body asks for, and whether it is a list of them.
    pub(super) fn drafts(self) -> ApiResult<(Vec<Draft>, bool)> {
        if !self.fields.contains_key("payouts") {
            return Ok((vec![self.draft().map_err(|error| error.or_hint(|| ASK.to_owned()))?], false));
        }
        let mut fields = self.only(&["payouts"])?.fields;
        let Some(Value::Array(list)) = fields.remove("payouts") else {
            return Err(invalid_field("payouts", "it is not a list"));
        };
        if list.is_empty() || list.len() > MAX_ASKED {
            return Err(invalid_field("payouts", format!("it has 1 to {MAX_ASKED} entries")));
        }
        let draft = |(at, value)| match value {
            Value::Object(fields) => Self { fields, prefix: prefix(at) }.draft(),
            _ => Err(invalid_field(&format!("payouts[{at}]"), "it is not an object")),
        };
        Ok((list.into_iter().enumerate().map(draft).collect::<ApiResult<_>>()?, true))
    }

    fn draft(self) -> ApiResult<Draft> {
        let fields = self.only(&DRAFT)?;
        Ok(Draft {
            to: fields.needed("to")?,
            amount: fields.needed("amount")?,
            token: fields.needed("token")?,
            key: fields.text("idempotencyKey")?,
            memo: fields.text("memo")?,
            reference: fields.text("reference")?,
        })
    }
}

/// What stands before the fields of an entry of a list.
pub(super) fn prefix(at: usize) -> String {
    format!("payouts[{at}].")
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

/// The key of a payout, in the body or in the header, but not one here and another there.
pub(crate) fn one_key(in_body: Option<String>, in_header: Option<String>) -> ApiResult<Option<String>> {
    match (in_body, in_header) {
        (Some(body), Some(header)) if body != header => Err(invalid_field(
            "Idempotency-Key",
            "it differs from `idempotencyKey`: give one of them, or both alike",
        )),
        (in_body, in_header) => Ok(in_body.or(in_header)),
    }
}

/// The key in the header `Idempotency-Key`, if there is one.
pub(crate) fn header_key(headers: &HeaderMap) -> ApiResult<Option<String>> {
    let mut given = headers.get_all("idempotency-key").iter();
    match (given.next(), given.next()) {
        (None, _) => Ok(None),
        (Some(key), None) => key
            .to_str()
            .map(|key| Some(key.to_owned()))
            .map_err(|_| invalid_field("Idempotency-Key", "it is not plain ASCII")),
        (Some(_), Some(_)) => Err(invalid_field("Idempotency-Key", "it is given twice")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn drafts(body: Value) -> Result<(usize, bool), String> {
        let Value::Object(fields) = body else { panic!("an object") };
        let read = Fields { fields, prefix: String::new() }.drafts();
        read.map(|(drafts, is_list)| (drafts.len(), is_list)).map_err(|error| error.message)
    }

    #[test]
    fn one_payout_or_a_list() {
        let one = json!({"to": "a", "amount": "1", "token": "T", "idempotencyKey": null});
        assert_eq!(drafts(one.clone()), Ok((1, false)));
        assert_eq!(drafts(json!({"payouts": [one, one]})), Ok((2, true)));
    }

    #[test]
    fn what_is_wrong_is_told_by_name() {
        let one = json!({"to": "a", "amount": "1", "token": "T"});
        let with = |name: &str, value: Value| {
            let mut one = one.clone();
            one[name] = value;
            one
        };
        for (body, told) in [
            (json!({}), "field `to`: it is missing"),
            (with("colour", json!("x")), "field `colour` is not known"),
            (with("amount", json!(5)), "field `amount`: it is a number, not a string"),
            (with("to", json!(["a"])), "field `to`: it is not a string"),
            (with("payouts", json!([one])), "field `amount` is not known"),
            (json!({"payouts": {}}), "field `payouts`: it is not a list"),
            (json!({"payouts": []}), "field `payouts`: it has 1 to 1000 entries"),
            (
                json!({"payouts": vec![one.clone(); MAX_ASKED + 1]}),
                "field `payouts`: it has 1 to 1000 entries",
            ),
            (json!({"payouts": [one, 7]}), "field `payouts[1]`: it is not an object"),
            (json!({"payouts": [one, with("amout", json!("1"))]}), "field `payouts[1].amout` is not known"),
            (
                json!({"payouts": [one, with("token", Value::Null)]}),
                "field `payouts[1].token`: it is missing",
            ),
        ] {
            assert_eq!(drafts(body.clone()), Err(told.to_owned()), "{body}");
        }
    }

    #[test]
    fn parameters_are_known_and_given_once() {
        let read = |text: &str| {
            let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
            Params::read(
                pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
                &["limit", "dryRun"],
            )
        };
        assert_eq!(read("limit=7").unwrap().number("limit", 1, 9), Ok(7));
        assert_eq!(read("").unwrap().number("limit", 1, 9), Ok(1));
        assert!(read("limit=10").unwrap().number("limit", 1, 9).is_err());
        assert_eq!(read("dryRun=true").unwrap().flag("dryRun"), Ok(true));
        assert!(read("dryRun=yes").unwrap().flag("dryRun").is_err());
        assert_eq!(read("limt=7").unwrap_err().hint.as_deref(), Some("did you mean `limit`?"));
        assert!(read("limit=7&limit=7").is_err());
    }
}

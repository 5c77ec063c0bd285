//! Events of JSON ABI files: a whole ABI, or an artifact of Foundry or Hardhat.
//!
//! Only events are looked at, and only wanted ones: whatever else an ABI holds cannot
//! be in the way.

use std::collections::BTreeSet;

use alloy_dyn_abi::parser::TypeSpecifier;
use alloy_dyn_abi::{DynSolType, Specifier};
use alloy_json_abi::{EventParam, Param};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::{AbiError, nearest, shown};
use super::kind::{AbiType, Component, MAX_NESTING};
use super::{EventShape, Field};

/// The longest JSON ABI or artifact, in bytes.
pub const MAX_ABI_BYTES: usize = 64 * 1024 * 1024;

/// The longest name of a type, in bytes.
const MAX_TYPE_BYTES: usize = 1_024;

/// An artifact, of which nothing but the ABI matters.
#[derive(Deserialize)]
struct Artifact<'a> {
    #[serde(borrow)]
    abi: &'a RawValue,
}

/// Enough of an item to tell whether it is wanted.
#[derive(Deserialize)]
struct Head {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    name: String,
}

/// An event; old compilers leave out what is false.
#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    inputs: Vec<EventParam>,
    #[serde(default)]
    anonymous: bool,
}

/// An event that was not looked into yet.
struct Closed<'a> {
    name: String,
    json: &'a RawValue,
}

pub(super) fn events(text: &str, wanted: &[String]) -> Result<Vec<EventShape>, AbiError> {
    if text.len() > MAX_ABI_BYTES {
        return Err(AbiError::new(format!("an ABI has at most {MAX_ABI_BYTES} bytes")));
    }
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with('{') {
        let artifact: Artifact<'_> = serde_json::from_str(text).map_err(|error| {
            malformed(&error).with_hint("an artifact has its ABI under `abi`; a bare ABI is an array")
        })?;
        let inner = artifact.abi.get();
        if inner.starts_with('"') {
            let inner: String = serde_json::from_str(inner).map_err(|error| malformed(&error))?;
            return pick(&closed(&inner)?, wanted);
        }
        return pick(&closed(inner)?, wanted);
    }
    pick(&closed(text)?, wanted)
}

fn malformed(error: &serde_json::Error) -> AbiError {
    AbiError::new(format!("the ABI cannot be read: {error}"))
}

/// The events among an ABI's items.
fn closed(abi: &str) -> Result<Vec<Closed<'_>>, AbiError> {
    let items: Vec<&RawValue> = serde_json::from_str(abi).map_err(|error| malformed(&error))?;
    let mut events = Vec::new();
    for json in items {
        let head: Head = serde_json::from_str(json.get()).map_err(|error| malformed(&error))?;
        if head.kind == "event" {
            events.push(Closed { name: head.name, json });
        }
    }
    if events.is_empty() {
        return Err(AbiError::new("the ABI has no events")
            .with_hint("a proxy's ABI has none of its implementation's: take that one"));
    }
    Ok(events)
}

/// The wanted events, each once: merged ABIs repeat themselves.
fn pick(events: &[Closed<'_>], wanted: &[String]) -> Result<Vec<EventShape>, AbiError> {
    let mut picked = Vec::new();
    if wanted.is_empty() {
        let all: Result<Vec<_>, _> = events.iter().map(Closed::open).collect();
        picked = all.map_err(|error| match error.hint() {
            Some(_) => error,
            None => error.with_hint("name the events you want, and the others are left out"),
        })?;
    }
    for wish in wanted {
        picked.extend(matching(events, wish.trim())?);
    }
    let mut seen = BTreeSet::new();
    picked.retain(|event| seen.insert(event.signature().to_owned()));
    Ok(picked)
}

/// The events of a name, or the one of a signature, whether that says `indexed` or not.
fn matching(events: &[Closed<'_>], wish: &str) -> Result<Vec<EventShape>, AbiError> {
    let signature = if wish.contains('(') { Some(wish.parse::<EventShape>()?) } else { None };
    let name = signature.as_ref().map_or(wish, EventShape::name);
    let mut found = Vec::new();
    for event in events.iter().filter(|event| event.name == name) {
        let shape = event.open()?;
        if signature.as_ref().is_none_or(|wanted| has_types_of(&shape, wanted)) {
            found.push(shape);
        }
    }
    if found.is_empty() {
        return Err(missing(events, name, wish));
    }
    Ok(found)
}

fn has_types_of(shape: &EventShape, wanted: &EventShape) -> bool {
    shape.fields().len() == wanted.fields().len()
        && shape.fields().iter().zip(wanted.fields()).all(|(a, b)| a.ty.to_string() == b.ty.to_string())
}

fn missing(events: &[Closed<'_>], name: &str, wish: &str) -> AbiError {
    let error = AbiError::new(format!("the ABI has no event `{}`", shown(wish)));
    let same: Vec<String> = events
        .iter()
        .filter(|event| event.name == name)
        .filter_map(|event| event.open().ok())
        .map(|shape| format!("`{}`", shape.signature()))
        .collect();
    if !same.is_empty() {
        return error.with_hint(format!("it has {}", same.join(", ")));
    }
    match nearest(name, events.iter().map(|event| event.name.as_str())) {
        Some(known) => error.with_hint(format!("did you mean `{known}`?")),
        None => {
            let some: Vec<&str> = events.iter().take(10).map(|event| event.name.as_str()).collect();
            error.with_hint(format!("it has {}", shown(&some.join(", "))))
        }
    }
}

impl Closed<'_> {
    fn open(&self) -> Result<EventShape, AbiError> {
        let of = |error: AbiError| error.of(format!("event `{}`", shown(&self.name)));
        let item: Item = serde_json::from_str(self.json.get()).map_err(|error| of(AbiError::new(error)))?;
        let mut fields = Vec::with_capacity(item.inputs.len());
        for input in item.inputs {
            let ty = field_type(&input.ty, &input.components).map_err(of)?;
            fields.push(Field { name: input.name, ty, indexed: input.indexed });
        }
        EventShape::new(self.name.clone(), fields, item.anonymous)
    }
}

/// A type as JSON has it: `tuple` with array brackets, and its components apart.
fn field_type(ty: &str, components: &[Param]) -> Result<AbiType, AbiError> {
    let unknown = || AbiError::new(format!("unknown type `{}`", shown(ty)));
    if ty.len() > MAX_TYPE_BYTES {
        return Err(unknown());
    }
    let written = TypeSpecifier::parse(ty).map_err(|_| unknown())?;
    if written.sizes.len() > MAX_NESTING {
        return Err(unknown().with_hint(format!("arrays are nested at most {MAX_NESTING} deep")));
    }
    let stem = if components.is_empty() {
        let stem: DynSolType = written.stem.resolve().map_err(|_| unknown())?;
        AbiType::from(&stem)
    } else {
        let component = |param: &Param| {
            let ty = field_type(&param.ty, &param.components)?;
            Ok(Component { name: param.name.clone(), ty })
        };
        AbiType::Tuple(components.iter().map(component).collect::<Result<_, AbiError>>()?)
    };
    Ok(written.sizes.iter().fold(stem, |ty, size| ty.listed(size.map(std::num::NonZero::get))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABI: &str = r#"[
        {"type":"constructor","inputs":[]},
        {"type":"function","name":"odd","inputs":[{"name":"x","type":"nonsense"}],"outputs":[]},
        {"type":"event","name":"FeesCollected","anonymous":false,"inputs":[
            {"indexed":true,"internalType":"address","name":"_token","type":"address"},
            {"indexed":true,"internalType":"address","name":"_integrator","type":"address"},
            {"indexed":false,"internalType":"uint256","name":"_integratorFee","type":"uint256"},
            {"indexed":false,"internalType":"uint256","name":"_lifiFee","type":"uint256"}]},
        {"type":"event","name":"Filled","inputs":[{"name":"orders","type":"tuple[2][]","components":[
            {"name":"amount","type":"uint256"},
            {"name":"who","type":"tuple","components":[{"name":"to","type":"address"}]}]}]},
        {"type":"event","name":"Filled","inputs":[{"name":"id","type":"bytes32","indexed":true}]},
        {"type":"event","name":"Note","anonymous":true,"inputs":[{"name":"sig","type":"bytes4","indexed":true}]}
    ]"#;

    fn texts(abi: &str, wanted: &[&str]) -> Result<Vec<String>, AbiError> {
        let wanted: Vec<String> = wanted.iter().map(|&wish| wish.to_owned()).collect();
        Ok(EventShape::from_json(abi, &wanted)?.iter().map(EventShape::to_string).collect())
    }

    #[test]
    fn a_whole_abi_gives_its_events_in_order() {
        assert_eq!(
            texts(ABI, &[]).expect("events"),
            [
                "FeesCollected(address indexed _token, address indexed _integrator, \
                 uint256 _integratorFee, uint256 _lifiFee)",
                "Filled((uint256 amount, (address to) who)[2][] orders)",
                "Filled(bytes32 indexed id)",
                "Note(bytes4 indexed sig) anonymous",
            ]
        );
    }

    #[test]
    fn an_artifact_gives_the_same() {
        let plain = texts(ABI, &[]).expect("events");
        let foundry = format!(r#"{{"bytecode":{{"object":"0x00"}},"abi":{ABI},"metadata":{{}}}}"#);
        assert_eq!(texts(&foundry, &[]).expect("events"), plain);
        let quoted = format!(r#"{{"abi":{}}}"#, serde_json::to_string(ABI).expect("text"));
        assert_eq!(texts(&quoted, &[]).expect("events"), plain);
        assert_eq!(texts(&format!("\u{feff} {ABI}"), &[]).expect("events"), plain);
    }

    #[test]
    fn wanted_events_come_as_wanted() {
        assert_eq!(texts(ABI, &["Note", "Filled"]).expect("events").len(), 3);
        assert_eq!(texts(ABI, &["Filled(bytes32)"]).expect("events"), ["Filled(bytes32 indexed id)"]);
        assert_eq!(texts(ABI, &["event Note(bytes4 indexed)"]).expect("events").len(), 1);
        assert_eq!(texts(ABI, &["Filled", "Filled(bytes32)"]).expect("events").len(), 2, "each once");
    }

    #[test]
    fn what_is_not_there_is_said() {
        let error = texts(ABI, &["FeeCollected"]).expect_err("a slip");
        assert_eq!(error.to_string(), "the ABI has no event `FeeCollected`");
        assert_eq!(error.hint(), Some("did you mean `FeesCollected`?"));
        let error = texts(ABI, &["Filled(uint8)"]).expect_err("other types");
        assert!(error.hint().is_some_and(|hint| hint.contains("`Filled(bytes32 indexed)`")));
        let error = texts(ABI, &["Mint"]).expect_err("another name");
        assert!(error.hint().is_some_and(|hint| hint.contains("FeesCollected, Filled")));
        assert!(texts("[]", &[]).expect_err("nothing").to_string().contains("no events"));
    }

    #[test]
    fn an_abi_that_is_broken_says_where() {
        let error = texts("[\n{\"type\":", &[]).expect_err("cut off");
        assert!(error.to_string().contains("line 2"), "{error}");
        let artifact = texts("{\"name\":\"x\"}", &[]).expect_err("no abi");
        assert!(artifact.hint().is_some_and(|hint| hint.contains("`abi`")));
        let odd = r#"[{"type":"event","name":"E","inputs":[{"name":"a","type":"uint7"}]},
            {"type":"event","name":"F"}]"#;
        let error = texts(odd, &[]).expect_err("no such type");
        assert_eq!(error.to_string(), "event `E`: unknown type `uint7`");
        assert_eq!(texts(odd, &["F"]).expect("the odd one is not wanted"), ["F()"]);
        let nested = format!(
            r#"[{{"type":"event","name":"E","inputs":[{{"name":"a","type":"bool{}"}}]}}]"#,
            "[]".repeat(400)
        );
        assert!(texts(&nested, &[]).is_err());
    }
}

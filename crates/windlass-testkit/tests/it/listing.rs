//! A case that is not listed is never run.

use std::path::Path;

#[test]
fn every_case_is_listed_in_the_macro() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/conformance");
    let listed = std::fs::read_to_string(folder.join("cases.rs")).expect("the list");
    let mut cases = 0;
    for entry in std::fs::read_dir(&folder).expect("the folder of the suite") {
        let path = entry.expect("a file of the suite").path();
        let noun = path.file_stem().and_then(|stem| stem.to_str()).expect("a readable name");
        let text = std::fs::read_to_string(&path).expect("a file of the suite");
        let group = listed.split(&format!(" {noun} {{")).nth(1).and_then(|rest| rest.split('}').next());
        for line in text.lines().filter_map(|line| line.strip_prefix("pub async fn ")) {
            let case = line.split('(').next().expect("a name");
            let group = group.unwrap_or_else(|| panic!("{noun} is not listed"));
            assert!(group.split_whitespace().any(|word| word == case), "{noun}::{case} is not listed");
            cases += 1;
        }
    }
    assert!(cases > 100, "only {cases} cases were found");
}

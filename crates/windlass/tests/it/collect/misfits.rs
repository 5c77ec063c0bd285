//! Logs that do not fit the event they are taken for: kept, counted, and listed.

use super::world::{EVENT, World, until, wait_until};
use crate::binary::Folder;

/// The same event to the chain, with one field less in its topics.
const OTHER: &str =
    "FeesCollected(address indexed token, address integrator, uint256 integratorFee, uint256 lifiFee)";

fn misfits(folder: &Folder) -> u64 {
    let status: serde_json::Value =
        serde_json::from_str(&folder.run(&["status", "--json"]).stdout).expect("json");
    status["chains"][0]["misfits"].as_u64().expect("a count")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn misfits_are_listed_with_their_reasons() {
    let world = World::start().await;
    world.pay(12);
    let fits = world.config("0");
    let folder = Folder::with_config(&fits.replace(EVENT, OTHER));
    let mut running = folder.start(&["run", "--role", "collect"]);
    let line = running.wait_for("do not fit");
    for part in
        ["table=fees_fees_collected", "reason=it has 3 topics, the event has 2", "block=", "address=0x"]
    {
        assert!(line.contains(part), "no `{part}` in {line}");
    }
    assert!(!line.contains("MisfitReport"), "{line}");
    until(|| if misfits(&folder) == 12 { Ok(()) } else { Err(folder.run(&["status"]).shown()) });
    wait_until(&folder, "fees", |shown| shown["lag_blocks"] == 0 && shown["events"] == 0);
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));

    let page = folder.run(&["index", "misfits", "fees", "--limit", "2"]);
    insta::assert_snapshot!("index_misfits", page.shown());
    let rest = folder.run(&["index", "misfits", "fees", "--after", "5:0", "--json"]);
    let rest: serde_json::Value = serde_json::from_str(&rest.stdout).expect("json");
    assert_eq!(rest.as_array().map(Vec::len), Some(10));
    insta::assert_snapshot!("index_misfits_json", serde_json::to_string_pretty(&rest[0]).expect("text"));

    // Somebody else's misfits are not this index's.
    let quiet = fits.replace(EVENT, "Quiet(uint256 a)").replace("[index.fees]", "[index.quiet]");
    folder.write("windlass.toml", &quiet);
    assert_eq!(folder.run(&["index", "misfits", "quiet"]).stdout, "no misfits\n");
    let removed = folder.run(&["index", "misfits", "fees"]);
    assert!(removed.code == Some(1) && removed.stderr.contains("is not configured"), "{}", removed.shown());
    assert!(folder.run(&["index", "misfits", "fee"]).stderr.contains("error[W0404]"));

    folder.write("windlass.toml", &world.chain_section());
    let dropped = folder.run(&["index", "drop", "fees", "--data", "--yes"]);
    assert_eq!(dropped.code, Some(0), "{}", dropped.shown());
    assert_eq!(misfits(&folder), 0, "they went with the index");
}

/// Collects with a configuration until there are so many misfits and rows of the two events.
fn collect(folder: &Folder, misfits_left: u64, rows: &[(&str, u64)]) {
    let mut running = folder.start(&["run", "--role", "collect"]);
    running.wait_for("running");
    for (index, events) in rows {
        // One that joins has the newest blocks only once they are final.
        let is_whole = |shown: &serde_json::Value| {
            shown["collected_through"].as_u64() >= shown["finalized"].as_u64()
                && !shown["finalized"].is_null()
        };
        wait_until(folder, index, |shown| is_whole(shown) && shown["events"] == *events);
    }
    until(|| if misfits(folder) == misfits_left { Ok(()) } else { Err(folder.run(&["status"]).shown()) });
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));
    let audited = folder.run(&["audit", "--chain", "local"]);
    assert_eq!(audited.code, Some(0), "{}", audited.shown());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fits_another_table_is_no_misfit_whichever_came_first() {
    let world = World::start().await;
    world.pay(12);
    world.settle();
    let fits = world.config("0");
    let other = fits.replace(EVENT, OTHER);
    let rest =
        |config: &str| config.split_once("[index.fees]").map(|(_, rest)| rest.to_owned()).expect("an index");
    let section =
        |config: &str| rest(config).split("\n\n[api]").next().map(str::to_owned).expect("a section");
    let both = format!("{}\n\n[index.other]{}\n", fits, section(&other));

    // The event that fits joins the one that does not.
    let folder =
        Folder::with_config(&format!("{}\n[index.other]{}\n", world.chain_section(), section(&other)));
    collect(&folder, 12, &[("other", 0)]);
    folder.write("windlass.toml", &both);
    collect(&folder, 0, &[("fees", 12), ("other", 0)]);

    // The other way round.
    let folder = Folder::with_config(&fits);
    collect(&folder, 0, &[("fees", 12)]);
    folder.write("windlass.toml", &both);
    collect(&folder, 0, &[("fees", 12), ("other", 0)]);

    // In one index.
    let folder = Folder::with_config(&fits);
    collect(&folder, 0, &[("fees", 12)]);
    folder.write("windlass.toml", &fits.replace(EVENT, &format!("{OTHER}\", \"{EVENT}")));
    collect(&folder, 0, &[("fees", 12)]);
}

//! Which steps a script takes, and what it must have met to count.

use std::fmt;
use std::marker::PhantomData;

use proptest::prelude::*;
use proptest_state_machine::ReferenceStateMachine;

use super::op::{
    Op, commit_op, fact_write, job_op, job_write, lease_op, message_write, outbox_op, range_write, weather,
};
use super::tables::{table_op, table_write};
use super::world::World;

/// A kind of script.
pub trait Profile: fmt::Debug + 'static {
    /// What it is called in reports.
    const NAME: &'static str;
    /// What must have happened at least once in a run.
    const MUST_HAPPEN: &'static [&'static str];
    #[doc(hidden)]
    fn steps() -> Steps;
}

/// A strategy for steps, opaque outside.
pub struct Steps(BoxedStrategy<Op>);

/// Leases, and commits under them.
#[derive(Debug)]
pub struct LeaseScript;

/// Jobs, ranges and cursors, and commits under them.
#[derive(Debug)]
pub struct JobScript;

/// The outbox.
#[derive(Debug)]
pub struct OutboxScript;

/// Typed tables, and commits into them.
#[derive(Debug)]
pub struct TableScript;

/// All of it together.
#[derive(Debug)]
pub struct WholeScript;

fn with_crashes(op: BoxedStrategy<Op>) -> Steps {
    let crash = op.clone().prop_map(|op| Op::Crash(Box::new(op)));
    Steps(prop_oneof![24 => op, 1 => crash].boxed())
}

impl Profile for LeaseScript {
    const NAME: &'static str = "leases";
    const MUST_HAPPEN: &'static [&'static str] = &[
        "clock went back",
        "handle lost",
        "died before the answer",
        "lease refused while held",
        "own lease asked for again",
        "own expired lease taken anew",
        "expired lease stolen",
        "released lease taken",
        "lease extended",
        "late holder extended",
        "zombie extension refused",
        "lease released",
        "stale release ignored",
        "fenced commit taken",
        "late holder's commit taken",
        "commit refused by a lease",
        "writes rolled back by a later one",
        "second seed ignored",
        "cursor not moved back",
        "cursor conflict",
        "cursor reset",
        "fork refused",
        "logs retracted",
    ];

    fn steps() -> Steps {
        with_crashes(prop_oneof![4 => lease_op(), 2 => weather(), 3 => commit_op(fact_write())].boxed())
    }
}

impl Profile for JobScript {
    const NAME: &'static str = "jobs";
    const MUST_HAPPEN: &'static [&'static str] = &[
        "clock went back",
        "handle lost",
        "died before the answer",
        "lane claimed",
        "expired lane stolen",
        "job completed",
        "lane worked off",
        "late holder completed",
        "zombie completion refused",
        "zombie extension refused",
        "zombie failure refused",
        "commit refused by a job",
        "retry put off",
        "dead by verdict",
        "dead by attempts",
        "dead job requeued",
        "queue dropped under its holder",
        "lane given back",
        "unique job refused",
        "first job not due",
        "run cut before a job not due",
        "range claimed",
        "no range left",
        "range refused while its job is open",
        "cursor conflict",
        "cursor reset",
        "writes rolled back by a later one",
    ];

    fn steps() -> Steps {
        let write = prop_oneof![6 => job_write(), 2 => range_write(), 2 => fact_write()].boxed();
        with_crashes(prop_oneof![6 => job_op(), 2 => weather(), 4 => commit_op(write)].boxed())
    }
}

impl Profile for OutboxScript {
    const NAME: &'static str = "outbox";
    const MUST_HAPPEN: &'static [&'static str] = &[
        "clock went back",
        "handle lost",
        "died before the answer",
        "known sink registered again",
        "sink from the beginning",
        "sink from now",
        "lane claimed",
        "expired lane stolen",
        "run delivered",
        "part of a run delivered",
        "zombie delivery refused",
        "position outside the claim refused",
        "retry put off",
        "dead by verdict",
        "dead by attempts",
        "dead message requeued for its sink",
        "message for another sink skipped",
        "outbox pruned",
        "writes rolled back by a later one",
    ];

    fn steps() -> Steps {
        let write = prop_oneof![4 => message_write(), 1 => fact_write()].boxed();
        with_crashes(prop_oneof![6 => outbox_op(), 2 => weather(), 3 => commit_op(write)].boxed())
    }
}

impl Profile for TableScript {
    const NAME: &'static str = "tables";
    const MUST_HAPPEN: &'static [&'static str] = &[
        "clock went back",
        "handle lost",
        "died before the answer",
        "known table asked for again",
        "table conflict",
        "table dropped with rows",
        "rows for a missing table refused",
        "known rows left as they are",
        "rows of another fork refused",
        "rows erased",
        "rows of several tables retracted",
        "logs retracted",
        "headers forgotten",
        "full page behind a row",
        "several totals",
        "fenced commit taken",
        "commit refused by a lease",
        "writes rolled back by a later one",
    ];

    fn steps() -> Steps {
        let write = prop_oneof![6 => table_write(), 3 => fact_write()].boxed();
        with_crashes(
            prop_oneof![4 => table_op(), 1 => lease_op(), 1 => weather(), 5 => commit_op(write)].boxed(),
        )
    }
}

impl Profile for WholeScript {
    const NAME: &'static str = "whole";
    const MUST_HAPPEN: &'static [&'static str] = &[
        "expired lease stolen",
        "expired lane stolen",
        "dead by verdict",
        "dead by attempts",
        "clock went back",
    ];

    fn steps() -> Steps {
        let write =
            prop_oneof![3 => job_write(), 3 => message_write(), 3 => fact_write(), 2 => table_write()]
                .boxed();
        let op = prop_oneof![
            2 => lease_op(),
            5 => job_op(),
            5 => outbox_op(),
            3 => weather(),
            1 => table_op(),
            5 => commit_op(write),
        ];
        with_crashes(op.boxed())
    }
}

/// A profile as a state machine whose states are those of the model.
pub(super) struct Machine<P>(PhantomData<P>);

impl<P: Profile> ReferenceStateMachine for Machine<P> {
    type State = World;
    type Transition = Op;

    fn init_state() -> BoxedStrategy<World> {
        Just(World::new()).boxed()
    }

    fn transitions(_: &World) -> BoxedStrategy<Op> {
        P::steps().0
    }

    fn apply(mut world: World, op: &Op) -> World {
        world.perform(op);
        world
    }
}

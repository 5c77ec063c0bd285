//! The cases of the programs whose work this takes over, re-expressed: each plays on
//! a chain that does what it is told, on SQLite and on PostgreSQL. `docs/conformance.md`
//! says which case of theirs went where.
//!
//! | file | what its cases are about |
//! | --- | --- |
//! | `pass` | one pass: a range is claimed, asked for, stored, and its job ended |
//! | `pace` | how long it waits, and when not at all |
//! | `limits` | ranges that an endpoint refuses |
//! | `trouble` | trouble with the database |
//! | `script` | the log poller's canonical script |
//! | `reorg` | how far back, what is taken back, and when nothing may be |
//! | `late` | logs that come late, and events that are wanted later |
//! | `finality` | where a chain stands, and what is kept of it |
//! | `replay` | collecting blocks anew |
//! | `filters` | what is asked for |
//! | `once` | each row is announced once |
//! | `neighbours` | others on the same chain |
//! | `health` | how it goes, told to others |
//! | `trust` | endpoints that lie, alone or one of two |
//! | `verify` | verifying what was backfilled |
//! | `stage` | where they play: `flaky` store, `scripted` endpoint, `panel` of endpoints, `logbook` |

mod ahead;
mod filters;
mod finality;
mod flaky;
mod health;
mod late;
mod limits;
mod logbook;
mod neighbours;
mod once;
mod pace;
mod panel;
mod pass;
mod reorg;
mod replay;
mod script;
mod scripted;
mod stage;
mod trouble;
mod trust;
mod verify;

/// Makes tests of every case, one for each store.
macro_rules! on_both_stores {
    ($($file:ident { $($case:ident)* })*) => {
        mod sqlite {
            $(mod $file {$(
                #[tokio::test]
                async fn $case() {
                    crate::cases::$file::$case(crate::database::Kind::Sqlite).await;
                }
            )*})*
        }

        mod postgres_store {
            $(mod $file {$(
                #[tokio::test]
                async fn $case() {
                    crate::cases::$file::$case(crate::database::Kind::Postgres).await;
                }
            )*})*
        }
    };
}

on_both_stores! {
    ahead {
        many_blocks_take_few_questions
        a_first_block_that_is_refused_is_asked_for_a_few_times
        a_new_block_takes_one_question_besides_the_look
        failing_questions_cost_themselves_alone
        a_head_whose_ranges_are_refused_goes_on_by_single_blocks
        a_reorg_between_headers_and_logs_stores_one_branch_only
        a_block_without_logs_that_the_chain_has_left_is_read_anew
        a_second_look_that_is_not_answered_does_not_hold_up_the_head
        settling_a_contradiction_does_not_hold_up_the_head
    }
    pass {
        a_range_is_asked_for_as_it_was_claimed_and_ends_with_its_rows
        a_range_without_events_ends_its_job_too
        the_past_is_gone_over_in_adjacent_ranges
        nothing_is_left_once_the_past_is_stored
        a_range_that_failed_comes_before_a_new_one
        a_failed_range_keeps_its_reason_and_the_loop_goes_on
        two_processes_that_begin_at_once_make_one_plan
        a_restart_asks_for_nothing_that_is_stored
    }
    limits {
        a_refused_range_is_halved_until_it_is_taken
        a_suggested_range_is_taken_up
        a_block_that_is_refused_by_itself_is_given_up_and_can_be_retried
        another_refusal_leaves_the_range_as_it_is
        ranges_that_nobody_can_read_do_not_hold_up_the_others
        a_block_that_an_endpoint_does_not_have_yet_is_waited_for
        an_endpoint_that_is_down_costs_a_range_no_attempt
        an_endpoint_that_has_fallen_behind_costs_a_range_no_attempt
        a_block_that_fails_as_all_others_do_is_not_given_up
        a_block_that_an_endpoint_keeps_failing_at_is_given_up
        a_second_look_that_an_endpoint_keeps_failing_at_becomes_smaller
        the_second_look_keeps_to_what_the_endpoint_takes
    }
    trouble {
        a_write_is_tried_three_times_with_growing_pauses_and_the_store_asked_first
        what_succeeds_at_the_second_try_is_not_repeated
        a_store_that_does_not_answer_is_tried_all_the_same
        what_would_fail_the_same_way_is_tried_once
        a_range_that_cannot_be_stored_now_is_released_and_read_again
        a_range_is_not_left_held_wherever_the_store_goes_away
        a_failure_that_cannot_be_written_now_is_written_later
        trouble_before_a_range_is_held_is_waited_out
        a_plan_that_could_not_be_written_is_made_by_the_next_step
        the_head_survives_a_database_that_fails_anywhere
        a_row_of_another_block_stops_its_chain_and_not_the_process
        ranges_whose_jobs_were_deleted_or_damaged_are_collected_again
        ranges_whose_jobs_were_deleted_are_not_taken_for_stored
        a_range_that_was_given_up_outlasts_lanes_that_were_altered
    }
    script {
        the_canonical_script_with_the_chains_own_finality
        the_canonical_script_with_a_depth
    }
    reorg {
        a_shorter_branch_is_followed_before_it_has_caught_up
        a_reorg_while_down_is_found_although_finality_moved_on_by_tag
        a_reorg_while_down_is_found_although_finality_moved_on_by_depth
        a_reorg_past_finality_stops_deletes_nothing_and_heals_by_tag
        a_reorg_past_finality_stops_deletes_nothing_and_heals_by_depth
        a_reorg_past_finality_stops_although_older_headers_are_kept
        a_reorg_past_finality_stops_behind_a_jump_too
        after_a_restart_nothing_of_another_chain_is_collected
        a_chain_that_was_started_anew_is_collected_after_a_rewind
        a_chain_that_was_started_anew_is_noticed_while_it_is_short
        ranges_of_a_chain_that_was_replaced_are_collected_anew_after_a_rewind
        a_block_of_the_new_chain_is_not_taken_for_shared
        a_chain_that_began_anew_while_history_is_collected_is_noticed
        a_process_that_only_collects_history_notices_that_the_chain_began_anew
        what_another_chain_answers_while_history_is_collected_is_not_stored
        blocks_that_an_endpoint_does_not_keep_are_not_taken_for_gone
        an_endpoint_that_refuses_old_blocks_does_not_keep_a_block_to_go_back_to_from_being_named
        refusals_do_not_put_off_that_the_chain_began_anew
        an_endpoint_that_lags_does_not_pass_for_another_chain_at_a_rewind
        the_common_ancestor_is_found_however_much_is_gone
        the_oldest_header_may_be_the_common_ancestor
        an_ancestor_that_cannot_be_told_takes_nothing_back
        a_shorter_branch_is_waited_out
        a_branch_too_short_to_tell_does_not_end_a_halt
        no_second_look_is_taken_at_a_branch_too_short_to_tell
        a_dead_branch_that_was_followed_below_finality_is_left_again
    }
    late {
        logs_that_come_late_appear_once_their_block_is_final_by_tag
        logs_that_come_late_appear_once_their_block_is_final_by_depth
        an_empty_answer_is_not_believed_where_the_bloom_speaks_against_it
        that_blooms_lack_logs_is_stored_with_the_block_that_shows_it
        the_second_look_begins_well_below_the_head
        what_a_range_missed_near_the_head_is_found_by_the_second_look
        what_a_range_missed_for_one_who_joined_later_is_found_too
        what_is_too_old_for_the_second_look_is_found_by_an_audit
        an_event_that_is_wanted_later_is_collected_from_its_first_block
    }
    finality {
        a_chain_that_begins_late_is_collected_from_its_first_block_on
        finality_is_kept_with_the_position
        rows_are_told_by_finality_and_by_blocks_on_top
        the_past_ends_at_the_last_final_block
        headers_are_kept_from_the_last_final_block_on
        times_are_those_of_the_blocks
    }
    replay {
        what_was_taken_changed_or_added_is_named_and_collected_anew
        only_the_blocks_that_are_asked_for_are_collected_anew
        blocks_that_are_not_there_cannot_be_collected_anew
        what_two_endpoints_disagree_about_is_left_as_it_is
        the_extent_reaches_from_the_first_start_to_the_last_final_block
        a_start_that_moves_back_collects_what_lies_before
        rows_at_blocks_that_do_not_exist_are_named_and_removed
    }
    health {
        how_it_goes_is_written_when_it_changes_and_seldom_otherwise
        a_head_that_stands_still_says_why
        a_chain_that_is_lost_is_told_once_and_once_more_when_it_is_found
        a_database_that_refuses_is_no_trouble_of_endpoints
        one_who_lost_the_chain_says_nothing_more_about_it
        the_last_word_is_that_it_was_let_go
        one_who_does_not_hold_the_chain_takes_it_for_one_word_only
        who_waits_says_for_whom_once
        what_is_final_waits_no_longer_because_of_restarts
    }
    trust {
        a_liar_that_is_alone_deletes_nothing_and_is_asked_again
        doubtful_blocks_are_asked_about_together_and_in_turn_with_new_ones
        what_two_endpoints_were_heard_about_is_recorded
        two_final_blocks_of_one_height_are_a_dispute
        a_moment_of_another_chain_leads_nowhere
        a_liar_that_leaves_out_one_contract_deletes_nothing
        one_liar_of_two_changes_nothing_and_is_named
        a_liar_of_two_does_not_stop_the_head
        unlinked_headers_of_one_endpoint_do_not_stop_the_head
        a_block_is_asked_for_by_number_where_its_hash_is_not_taken
        a_row_that_one_endpoint_denies_is_kept
        a_row_that_two_endpoints_deny_is_removed
        a_row_that_the_receipts_deny_is_removed
        one_endpoint_alone_replaces_no_rows_of_another_block
        one_endpoint_of_two_makes_nothing_final
        one_endpoint_adds_nothing_while_the_other_is_not_heard
        a_contradicted_block_stays_in_doubt_while_an_endpoint_is_not_heard
        receipts_do_not_decide_about_transactions
        a_root_that_was_made_up_proves_nothing
        nothing_becomes_final_while_an_endpoint_is_not_heard
        what_one_endpoint_calls_final_waits_for_the_other
        a_block_that_nobody_tells_about_does_not_stop_the_second_look
        an_endpoint_of_another_branch_stops_nothing
        rows_of_another_block_are_replaced_where_all_logs_give_the_bloom
        an_answer_by_hash_with_another_number_stores_nothing
        times_at_the_head_are_those_of_the_header
        endpoints_with_different_headers_change_nothing
        a_doubtful_block_that_no_endpoint_serves_holds_up_no_other
    }
    verify {
        a_history_that_is_right_is_verified_for_few_requests
        nothing_is_mended_from_a_chain_that_began_anew
        an_endpoint_that_cuts_answers_off_is_looked_at_whole
        every_header_is_looked_at_in_full
        ranges_without_their_logs_are_found_and_mended
        wrong_hashes_are_found_and_mended
        wrong_times_are_found_and_mended
        a_missing_log_is_found_and_mended
        wrong_numbers_are_found_and_mended
        a_liar_of_two_is_named_and_what_it_left_out_collected_from_the_other
        a_liar_that_is_alone_is_told_and_asked_again
        a_share_of_requests_is_kept
        logs_outside_blooms_are_kept_and_remembered
        logs_left_out_under_empty_blooms_are_found
        a_source_that_joins_is_verified_too
        what_is_rewound_is_verified_again
        one_process_verifies_at_a_time
        nothing_is_verified_where_it_is_off
        altered_data_is_found_by_receipts
        one_endpoint_of_two_proves_nothing_alone
        a_suspicious_range_waits_for_an_endpoint_that_is_not_heard
        a_bloom_of_one_endpoint_hides_nothing
        receipts_that_contradict_their_header_verify_nothing
        what_the_head_has_stored_is_looked_at_in_full
        a_liar_that_is_alone_at_the_head_is_found_by_a_sample
        doubtful_blocks_and_segments_are_verified_in_turn
        mending_is_not_of_the_share
        what_the_only_endpoint_says_again_is_not_proven
        what_was_not_proven_is_looked_at_after_a_start
        a_block_that_is_not_answered_about_holds_up_no_suspicious_range
        a_liar_that_never_ends_does_not_keep_two_others_from_proof
        receipts_that_fail_at_times_prove_in_the_end
    }
    once {
        a_range_under_way_when_a_source_leaves_is_announced_once
        a_reorg_below_where_one_joined_announces_nothing_twice
        a_plan_of_the_first_form_is_gone_on_with
        more_sources_than_the_first_form_had_room_for_are_planned
    }
    neighbours {
        what_a_neighbour_keeps_is_no_extra_among_many_contracts
        a_log_that_has_a_place_in_a_table_is_nobodys_misfit
        a_repair_leaves_what_others_keep_of_the_same_contract
        a_repair_is_no_reorg
        an_audit_says_what_it_has_not_looked_at
        what_others_emit_is_no_news
    }
    filters {
        one_question_serves_every_source
        a_source_that_is_added_asks_for_itself_only
        the_same_sources_again_change_nothing
        a_source_that_is_taken_out_stops_and_keeps_its_rows
        without_sources_nothing_is_stored
    }
}

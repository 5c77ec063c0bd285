//! The list of all cases, as a macro that makes tests of them.

/// Makes a test of every case, each on a fresh database. The argument is a future
/// that gives a harness, such as a call of an `async fn`; it is evaluated in each test.
#[macro_export]
macro_rules! conformance {
    ($harness:expr) => {
        $crate::conformance_tests! { $harness;
            leases {
                a_free_lease_is_taken_under_its_first_epoch
                asking_again_prolongs_and_keeps_the_epoch
                another_owner_is_refused_while_the_lease_lives
                an_expired_lease_is_taken_under_a_new_epoch
                its_former_holder_takes_an_expired_lease_under_a_new_epoch_too
                extending_prolongs_from_now
                extending_anothers_lease_is_fenced
                extending_an_unknown_lease_is_fenced
                a_late_holder_extends_while_nobody_took_over
                a_zombie_can_neither_extend_nor_release
                a_zombie_of_the_same_name_is_fenced_too
                a_released_lease_is_free_at_once_and_counts_on
                releasing_anothers_lease_changes_nothing
                releasing_an_unknown_lease_says_no
                leases_of_different_names_are_independent
                held_leases_are_listed_by_name_even_expired_ones
                a_lease_without_duration_is_over_at_once
            }
            enqueue {
                jobs_are_numbered_per_lane_in_their_order
                lanes_of_different_queues_are_different_lanes
                a_unique_job_is_refused_while_its_lane_is_open
                a_unique_job_is_refused_behind_one_of_its_own_commit
                a_job_is_not_handed_out_before_its_instant
                an_instant_that_has_passed_delays_nothing
                the_queues_of_sinks_are_reserved
                payloads_have_a_limit
                payloads_are_kept_as_they_are
                names_are_kept_as_they_are
                no_jobs_is_nothing_to_do
            }
            claim {
                a_claimed_job_carries_all_its_worker_needs
                a_lane_has_one_holder_at_a_time
                a_lane_is_worked_off_in_order
                the_longest_waiting_lane_comes_first
                a_finished_lane_goes_to_the_end_of_the_line
                a_claim_is_bounded_in_all_and_per_lane
                a_claim_for_nothing_takes_nothing
                a_claim_without_attempts_is_refused
                a_run_ends_before_a_job_that_is_not_due
                an_expired_lane_is_claimed_again_as_one_more_attempt
                a_lane_at_its_attempts_limit_gives_up_its_first_job
                a_job_given_up_at_its_limit_keeps_its_last_error
            }
            complete {
                a_finished_job_is_gone_and_its_lane_is_free
                finishing_part_of_a_run_keeps_the_rest_held
                the_rest_of_a_run_is_under_way_as_a_first_attempt
                a_gap_leaves_the_whole_lane_untouched
                a_job_is_finished_once
                a_late_holder_finishes_while_nobody_took_over
                a_zombie_can_do_nothing_to_its_former_lane
                a_ticket_dies_with_the_hold_it_came_from
                tickets_of_unknown_lanes_are_refused
                extending_holds_lanes_longer_from_now_on
                giving_lanes_back_takes_no_attempt
                a_dropped_queue_is_gone_with_all_it_had
                who_held_a_job_of_a_dropped_queue_is_fenced
            }
            drained {
                a_lane_that_is_worked_off_never_comes_back
                a_lane_with_more_to_do_stays_as_it_is
                a_job_that_makes_its_successor_leaves_the_lane
                what_was_given_up_outlives_its_lane
            }
            fail {
                a_failed_job_waits_for_its_retry_and_shows_its_error
                success_wipes_the_errors_of_the_past
                a_failure_frees_the_rest_of_its_run
                only_the_first_open_job_can_fail
                a_job_given_up_steps_aside_with_its_reason
                long_errors_are_cut
                requeued_jobs_go_to_the_end_under_new_numbers
                requeueing_skips_what_is_not_dead
            }
            job_list {
                every_state_is_shown_as_it_is
                a_hold_that_ran_out_is_shown_as_waiting_for_a_retry
                pages_follow_each_other_without_overlap
                dead_jobs_are_paged_too
                one_job_is_shown_open_dead_or_not_at_all
                counts_say_how_every_queue_stands
                the_outbox_is_not_shown_among_jobs
            }
            ranges {
                a_range_moves_the_cursor_and_is_held_from_the_start
                ranges_are_adjacent_and_do_not_overlap
                a_range_ends_at_the_last_block
                the_last_block_itself_is_claimed
                nothing_is_claimed_above_the_last_block
                a_range_needs_a_cursor
                ranges_keep_out_of_the_queues_of_sinks
                a_range_whose_job_is_open_is_refused_whole
                a_finished_range_can_be_claimed_once_more
                an_abandoned_range_goes_to_another_worker_as_its_second_attempt
                a_ranges_logs_and_its_end_are_one_commit
                many_claimants_get_disjoint_ranges_and_leave_no_hole
                a_single_range_has_one_winner
            }
            cursors {
                a_cursor_is_seeded_once
                a_cursor_moves_forward_and_never_back
                another_identity_at_the_same_number_is_a_conflict
                another_identity_at_a_shared_number_is_progress
                a_conflict_refuses_the_whole_commit
                a_cursor_nobody_seeded_does_not_move
                a_reset_goes_anywhere_for_who_knows_the_position
                cursors_of_different_names_are_independent
                positions_read_back_exactly
                a_cursor_seeded_in_a_commit_moves_in_the_same_commit
                cursors_are_listed_by_name
            }
            events {
                no_logs_are_no_rows
                logs_are_stored_once_however_often_they_come
                stored_logs_are_not_overwritten
                logs_read_back_exactly_and_in_order
                logs_are_paged_from_a_place_on
                chains_are_kept_apart
                a_log_of_another_fork_refuses_the_commit
                a_contradiction_names_the_chain_it_is_on
                headers_are_remembered_once_and_in_order
                a_header_of_another_fork_refuses_the_commit
                a_reorg_takes_back_and_adds_in_one_commit
                logs_of_some_contracts_are_taken_out_of_some_blocks
                state_is_kept_replaced_and_forgotten
            }
            tables {
                tables_are_made_once_and_listed_by_name
                a_table_that_holds_something_else_is_a_conflict
                names_and_columns_that_are_kept_back_are_refused
                words_of_sql_are_names_like_any_other
                a_table_has_as_many_columns_as_are_allowed
                a_dropped_table_is_gone_and_its_name_is_free
                a_table_made_anew_by_another_is_read_as_it_is_now
                a_table_may_be_dropped_while_others_write
                one_of_many_makes_a_table
                tables_and_counts_survive_a_restart
                tables_have_a_limit
            }
            rows {
                rows_read_back_exactly
                text_with_nul_is_kept_alike_by_every_store
                rows_are_stored_once_however_often_they_come
                stored_rows_are_not_overwritten
                rows_out_of_order_are_kept_in_order
                a_row_of_another_fork_refuses_the_commit
                rows_for_an_unknown_or_other_table_are_refused
                erasing_takes_out_the_rows_of_these_blocks
                erasing_takes_out_the_rows_of_these_contracts
                a_reorg_takes_back_the_rows_of_every_table_of_its_chain
                headers_below_a_block_are_forgotten
                rows_of_a_refused_commit_are_not_seen
                a_zombie_can_neither_add_nor_take_rows
                many_writers_of_one_table_keep_its_count
                the_same_rows_written_at_once_are_stored_once
            }
            questions {
                pages_meet_every_row_once_in_both_orders
                a_page_begins_behind_any_key
                a_page_has_a_limit
                an_empty_table_answers
                every_comparison_works_on_every_kind
                flags_are_compared_too
                conditions_look_at_where_a_log_stands
                all_conditions_are_met_together_and_page_by_page
                questions_that_do_not_fit_are_refused
            }
            column_indexes {
                an_index_is_made_once_listed_and_dropped
                an_index_changes_no_answer
                what_cannot_have_an_index_is_refused
                a_dropped_table_takes_its_indexes_along
                rows_are_written_while_an_index_is_made
                an_index_that_many_make_at_once_is_there_once
            }
            sums {
                totals_pass_256_bits
                a_total_of_nothing_is_zero
                totals_come_by_a_shared_value_in_its_order
                totals_come_by_contract_and_flag
                totals_are_of_the_rows_that_meet_the_conditions
                what_is_no_number_has_no_total
            }
            payouts {
                payouts_read_back_exactly
                a_key_is_given_once
                only_the_next_version_is_taken
                no_other_way_is_taken_than_the_states_allow
                what_a_state_wants_must_be_there
                what_is_final_has_no_way_back
                a_final_payment_that_is_gone_can_be_sent_again
                what_was_asked_for_never_changes
                payouts_are_paged_by_age_and_state
                a_payout_is_tried_again_once
                what_is_on_its_way_is_summed
                a_recipient_is_known_once_a_payment_is_confirmed
                an_approval_is_given_once_by_each
                a_budget_is_changed_by_who_knows_it
                budgets_written_at_once_lose_nothing
                many_payouts_are_one_commit
            }
            payout_search {
                payouts_are_found_by_what_was_asked_for
                payouts_are_found_by_their_reference
                payouts_are_found_by_parts_of_their_ids
                payouts_that_wait_are_counted_by_vault
            }
            replace {
                a_payout_is_replaced_whatever_stands_there
                other_rows_are_replaced_at_any_version
                a_transaction_is_replaced_with_its_signed_forms
                rows_are_removed_with_what_belongs_to_them
            }
            transactions {
                transactions_read_back_exactly
                what_a_receipt_says_is_kept_with_its_block_alone
                transactions_of_many_payouts_are_read_at_once
                a_nonce_has_one_transaction
                a_payout_has_one_live_transaction
                a_transaction_that_is_over_stays_as_it_is
                nonces_are_never_given_out_twice
            }
            audit_log {
                the_audit_log_is_one_chain
                entries_written_at_once_are_one_chain
                keys_are_found_by_their_hash_and_revoked_once
            }
            publish {
                messages_are_numbered_without_gaps_per_partition
                a_commit_rolled_back_leaves_no_gap
                a_message_reaches_every_sink_as_it_was_written
                a_new_sink_begins_where_it_asks
                a_known_sink_keeps_its_position
                messages_have_a_limit
                a_sink_may_be_called_like_its_own_queue
            }
            delivery {
                a_partition_is_delivered_in_order_by_one_holder
                a_delivery_claim_is_bounded_in_all_and_per_partition
                delivering_part_of_a_run_keeps_the_rest_held
                a_position_outside_the_claim_is_refused
                a_zombies_delivery_is_fenced
                a_late_deliverer_is_heard_while_nobody_took_over
                a_sink_that_is_down_holds_up_no_other
                a_message_given_up_steps_aside_with_its_reason
                a_partition_at_its_attempts_limit_gives_up_its_first_message
                a_requeued_message_goes_to_its_own_sink_alone
                a_run_of_nothing_but_others_messages_is_passed_in_silence
                pruning_forgets_only_what_every_sink_is_past
                without_sinks_nothing_is_pruned
                a_sink_nobody_registered_is_refused
                dead_messages_are_listed_up_to_a_limit
            }
            messages {
                messages_are_read_without_being_a_sink
                messages_of_a_refused_commit_are_not_read
                forgotten_messages_are_not_read
                what_is_for_one_sink_alone_is_not_read_by_others
            }
            door {
                every_write_says_what_it_did_in_its_place
                writes_take_effect_in_their_order
                an_empty_commit_does_nothing
                a_relaxed_commit_is_seen_like_any_other
                a_commit_under_a_live_or_late_lease_is_taken
                a_zombies_commit_is_refused_by_its_leases_epoch
                a_commit_under_a_released_or_unknown_lease_is_refused
                a_zombies_commit_is_refused_by_its_lanes_epoch
                a_job_fence_needs_the_first_open_job_of_a_held_lane
                a_run_is_finished_one_by_one_in_one_commit
                jobs_of_many_lanes_are_finished_in_one_commit_or_none_is
                every_fence_must_hold
                a_commit_has_a_limit
                what_is_too_large_is_invalid_whatever_it_stands_on
                a_lease_guards_a_cursor_and_its_facts_together
            }
            atomic {
                any_failing_write_in_any_place_undoes_all_others
                a_failing_fence_lets_no_write_through
            }
            races {
                many_workers_share_jobs_without_overlap_or_loss
                one_of_many_gets_a_lease
                epochs_handed_out_in_a_race_are_unique
                many_writers_number_messages_without_gaps
                a_sink_registered_while_others_write_misses_nothing
                many_deliverers_never_deliver_twice
                crossed_commits_do_not_lock_each_other_out
                one_of_many_enqueues_a_unique_job
                one_of_many_completes_a_job
                completions_of_one_handle_are_judged_one_by_one
            }
            crash {
                a_worker_may_die_between_any_two_calls
                what_a_dead_worker_held_comes_back_when_its_time_is_over
                tickets_outlive_the_handle_they_came_from
            }
            time {
                a_clock_set_back_takes_no_lease_from_its_holder
                a_clock_set_back_hands_no_lane_to_two_holders
                work_of_the_future_waits_until_the_clock_is_there_again
                the_store_goes_by_the_clock_it_was_given
            }
            restart {
                everything_survives_a_restart
                numbers_and_epochs_go_on_after_a_restart
                another_handle_sees_what_was_written
                the_store_says_which_database_it_is
                a_closed_store_says_so
            }
            batches {
                ten_thousand_lanes_are_filled_claimed_and_finished
                ten_thousand_jobs_of_one_lane_keep_their_order
                ten_thousand_logs_and_headers_are_one_commit
                ten_thousand_rows_are_one_commit
                ten_thousand_messages_go_out_in_order
            }
            transcript {
                a_long_fixed_script_is_answered_alike_by_every_store
            }
        }
    };
}

/// The same for stores whose handles can prove that they are alive.
#[macro_export]
macro_rules! conformance_of_instances {
    ($harness:expr) => {
        $crate::conformance_tests! { $harness;
            instances {
                a_dead_holders_lease_is_taken_at_once_under_a_new_epoch
                what_a_dead_worker_held_is_claimed_at_once_as_one_more_attempt
                a_zombie_of_a_dead_instance_is_fenced
                a_living_holder_keeps_what_it_holds
                a_holder_without_proof_keeps_what_it_holds_until_its_time_is_over
                what_a_closed_handle_held_is_free
                leases_of_the_dead_are_listed
                many_heirs_share_what_the_dead_have_left
            }
        }
    };
}

/// Makes a test of every case of statements that a person writes.
#[macro_export]
macro_rules! conformance_of_sql {
    ($harness:expr) => {
        $crate::conformance_tests! { $harness;
            sql {
                sums_are_exact_beyond_256_bits
                averages_are_exact_and_the_same_everywhere
                amounts_compare_and_sort_as_numbers
                sums_compare_and_sort_as_numbers
                windows_are_exact_too
                values_that_are_missing_are_skipped
                bytes_are_lower_case_text_and_are_found_in_any_case
                rows_are_cut_at_the_limit
            }
            sql_views {
                a_table_has_its_view_as_long_as_it_is_there
                a_table_takes_the_name_of_a_view_and_gives_it_back
                what_a_user_has_made_is_left_alone
                tables_of_an_earlier_version_get_their_views
            }
            sql_guard {
                only_tables_of_events_are_read
                nothing_is_written_or_changed
                functions_that_leave_the_statement_are_refused
                what_the_database_refuses_is_told_in_its_words
                a_statement_without_end_is_stopped
                rows_are_written_while_a_statement_runs
            }
        }
    };
}

/// The tests themselves.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    ($harness:expr; $($noun:ident { $($case:ident)* })*) => {$(
        mod $noun {
            #[allow(unused_imports, reason = "the harness may be named from the crate's root")]
            use super::*;

            $(
                #[::tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let harness = $harness.await;
                    $crate::conformance::$noun::$case(&harness).await;
                }
            )*
        }
    )*};
}

//! What is read from a store, on SQLite and on PostgreSQL.
//!
//! | file | what its cases are about |
//! | --- | --- |
//! | `events` | rows by page: filters, order, cursors, refusals |
//! | `sum` | totals, exact |
//! | `fees` | `/fees`, as its users know it |
//! | `indexes` | the list of indexes |
//! | `crowd` | many clients at once |
//! | `postgres_outage` | a PostgreSQL server that goes away and comes back |
//! | `graphql` | the same in GraphQL |
//! | `graphql_table`, `graphql_schema` | tables by their own types, and the schema over them |
//! | `payout_access` | who may do what with payouts |
//! | `payout_create`, `payout_act`, `payout_read` | payouts in JSON |
//! | `payout_graphql` | payouts in GraphQL |
//! | `stream`, `resume`, `reorg` | events and retractions as they come; `reader` hears them |

mod crowd;
mod events;
mod fees;
mod graphql;
mod graphql_schema;
mod graphql_table;
mod indexes;
mod payout_access;
mod payout_act;
mod payout_create;
mod payout_graphql;
mod payout_notes;
mod payout_read;
mod postgres_outage;
mod reader;
mod reorg;
mod resume;
mod stream;
mod sum;

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
    events {
        a_row_has_its_place_and_its_fields
        every_place_can_be_filtered_by
        every_kind_of_column_can_be_filtered_by
        a_field_called_from_is_the_field
        pages_go_on_where_the_one_before_ended
        filters_and_cursors_go_together
        a_cursor_of_another_question_is_refused
        bad_questions_are_refused_by_name
        what_is_not_there_is_not_found
        overloaded_events_are_named_by_their_tables
        values_that_no_row_can_have_are_refused
        pages_tell_each_row_once_while_others_are_written
    }
    sum {
        totals_are_exact_beyond_256_bits
        totals_come_by_group
        sums_that_make_no_sense_are_refused
        a_column_without_a_sum_is_told_with_its_type
        totals_come_by_every_kind_of_column
    }
    fees {
        a_fee_has_the_shape_that_its_users_know
        every_clamp_is_the_reference_s
        a_chain_that_is_no_number_is_refused
        what_may_pass_is_503_and_says_so
        only_tables_of_the_event_on_the_chain_are_served
        fees_of_several_tables_come_in_one_order
        a_deep_page_is_the_page_that_walking_would_find
        deep_pages_stay_right_while_rows_come_and_go
    }
    crowd {
        two_hundred_clients_get_their_answer_or_a_time_to_come_back
        clients_beyond_the_queue_are_told_to_come_back
    }
    indexes {
        indexes_are_listed_with_tables_and_progress
        without_a_source_there_is_no_progress
        the_list_takes_no_parameters
    }
    graphql {
        connections_go_on_behind_their_cursors
        filters_are_those_of_the_list
        totals_counts_and_indexes_can_be_asked_for
        bad_questions_have_codes
        a_field_that_fails_is_not_left_out
        what_asks_for_too_much_is_refused
        tools_can_look_the_schema_up
        the_console_loads_nothing_from_elsewhere
    }
    graphql_table {
        a_row_has_the_type_of_its_table
        values_are_exact_and_have_their_types
        filters_compare_exactly
        pages_show_each_row_once_where_they_cut_a_block
        totals_are_those_of_the_list
        what_a_table_does_not_have_is_named
        every_table_and_column_has_a_name
    }
    graphql_schema {
        tables_are_in_the_schema_while_they_are_there
        factories_and_what_they_create_have_types
        tools_see_every_type_of_a_table
        the_console_asks_for_the_types_of_tables
        no_request_asks_the_store_without_end
        the_example_of_the_documents_is_true
    }
    payout_access {
        every_role_may_what_it_is_for_and_nothing_else
        whoever_may_is_let_in
        a_key_that_is_worth_nothing_changes_nothing
        a_developer_asks_and_approves_under_two_names
        a_page_of_another_site_does_nothing_without_a_key
        events_are_open_whatever_key_is_sent
        a_key_that_asks_too_often_is_told_when_to_come_back
        nothing_is_paid_where_paying_is_not_configured
        access_and_deeds_are_counted
    }
    payout_create {
        a_payout_is_asked_for_once_for_each_key
        a_key_may_come_in_the_header_or_be_made_up
        a_list_is_asked_for_whole_or_not_at_all
        what_is_wrong_is_refused_by_the_name_of_its_field
        a_dry_run_shows_what_would_be_and_does_nothing
    }
    payout_act {
        approving_takes_others_and_holds_the_days_budget
        nobody_approves_what_they_have_asked_for
        what_a_payout_does_not_allow_is_a_conflict
        a_payout_is_rejected_cancelled_and_tried_again
    }
    payout_read {
        pages_go_on_where_the_one_before_ended
        the_largest_page_knows_whether_it_is_the_last
        a_payout_is_shown_with_all_that_belongs_to_it
        what_was_done_is_read_by_page
    }
    payout_notes {
        a_memo_and_a_reference_are_kept_as_they_were_given
        payouts_are_listed_by_their_reference
        rules_are_shown_with_headroom
    }
    payout_graphql {
        a_payout_is_created_and_approved
        what_no_longer_waits_cannot_be_approved
        the_example_of_the_documents_lists_payouts
        connections_go_on_behind_their_cursors
        a_page_of_a_hundred_knows_whether_it_is_the_last
        what_belongs_to_a_payout_can_be_asked_for
        what_is_wrong_is_told_by_the_name_of_its_argument
        a_key_may_come_in_the_header_of_a_mutation
        what_was_done_is_told_beside_what_was_refused
        what_asks_for_too_much_of_payouts_is_refused
    }
    stream {
        rows_come_in_the_chains_order_from_now_on
        a_reader_may_begin_with_what_is_kept
        a_stream_begins_behind_the_newest_message
        an_index_or_event_can_be_asked_for_alone
        a_message_may_speak_of_some_tables_only
        questions_that_make_no_sense_are_refused
        streams_are_bounded_and_leave_room_when_they_end
        a_quiet_stream_shows_that_it_lives_and_ends_with_the_server
    }
    resume {
        a_stream_goes_on_behind_any_event
        what_happens_while_nobody_reads_is_told_later
        a_stream_without_rows_still_moves_on
        every_chain_has_its_own_place_in_an_id
        messages_that_were_forgotten_are_owned_up_to
        a_reader_goes_on_where_all_was_forgotten
        a_message_for_one_sink_alone_is_no_gap
        an_id_of_another_chain_is_refused
        an_id_of_another_database_is_refused
        a_chain_that_joins_is_told_from_its_first_message
        a_stream_is_woken_before_its_time
    }
    reorg {
        a_reorg_is_told_as_it_happens
        a_mended_block_is_told_anew
        a_mended_block_of_another_index_is_not_told
        a_late_reader_gets_the_rows_of_the_new_branch_once
    }
}

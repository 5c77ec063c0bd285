//! Comparing endpoints, and setting aside one whose logs were proven false.

use std::time::Duration;

use alloy_primitives::Bloom;
use tokio::time::{Instant, advance};
use windlass_core::range::BlockRange;
use windlass_core::reader::{
    AnswerFault, BlockTag, ChainErrorKind, ChainReader, FalseAnswer, Header, LogFilter, LogSpan,
};

use super::fake::{self, Fault, block};
use super::pool;
use crate::evm::pool::EvmPool;

const BLOCKS: BlockRange = BlockRange { from: 10, to: 20 };
const MISSING: FalseAnswer = FalseAnswer { blocks: BLOCKS, fault: AnswerFault::MissingLogs };

#[tokio::test(start_paused = true)]
async fn each_endpoint_answers_for_itself() {
    let (pool, fakes) = pool(3);
    fakes[1].manner().head = 15;
    fakes[2].manner().fault = Some(Fault::Refuses);
    let headers = pool.header_from_each(BlockTag::Number(20)).await;
    let told: Vec<_> = headers
        .iter()
        .map(|one| (one.endpoint.as_str(), one.answer.as_ref().map(Option::is_some).map_err(|_| ())))
        .collect();
    assert_eq!(told, [("http://a", Ok(true)), ("http://b", Ok(false)), ("http://c", Err(()))]);
    let logs = pool.logs_from_each(LogSpan::Block(block(12)), &LogFilter::default()).await;
    assert_eq!(logs.iter().filter(|one| one.answer.is_ok()).count(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_whose_logs_were_false_is_not_asked_about_logs_for_a_while() {
    let (pool, fakes) = pool(2);
    let logs = async || pool.logs(LogSpan::Range(BLOCKS), &LogFilter::default()).await;
    logs().await.expect("logs");
    pool.report_false_answer("http://a", &MISSING);
    let status = &pool.status()[0];
    assert_eq!(status.false_answer.as_deref(), Some("left out logs of blocks 10 to 20"));
    assert!(!status.healthy && status.logs_set_aside_ms.is_some(), "{status:?}");
    let before = fakes[0].asked();
    for _ in 0..20 {
        logs().await.expect("logs");
        pool.logs(LogSpan::Block(block(12)), &LogFilter::default()).await.expect("logs");
    }
    assert_eq!(fakes[0].asked(), before, "the other is asked");
    // Not even when the other fails: what it would say is known to be worth nothing.
    fakes[1].manner().fault = Some(Fault::Refuses);
    logs().await.expect_err("the other refuses");
    assert_eq!(fakes[0].asked(), before);
    assert!(pool.receipts(&header()).await.is_ok(), "it is asked about anything else");
    fakes[1].manner().fault = None;
    advance(Duration::from_secs(61)).await;
    fakes[1].manner().fault = Some(Fault::Refuses);
    logs().await.expect("it is asked again");
    assert_eq!(pool.status()[0].logs_set_aside_ms, None);
}

/// The other hangs. False answers to these questions would show, so the endpoint is asked.
#[tokio::test(start_paused = true)]
async fn an_endpoint_whose_logs_were_false_stands_in_where_its_answer_can_be_checked() {
    let ((pool, fakes), all) = (pool(2), LogFilter::default());
    pool.report_false_answer("http://a", &MISSING);
    fakes[1].manner().fault = Some(Fault::Silent);
    let headers: Vec<Header> = (10..=20).map(fake::header).collect();
    let began = tokio::time::Instant::now();
    pool.logs_of_blocks(&headers, &all).await.expect("logs");
    pool.block_logs(&headers[0], &all).await.expect("logs");
    assert!(began.elapsed() <= Duration::from_secs(4), "{:?}", began.elapsed());
    let before = fakes[0].asked();
    let range = pool.logs(LogSpan::Range(BLOCKS), &all);
    tokio::time::timeout(Duration::from_secs(10), range).await.expect_err("history is not taken from it");
    assert_eq!(fakes[0].asked(), before);
}

/// Of a block whose bloom has logs, none are no answer: the other is asked.
#[tokio::test(start_paused = true)]
async fn logs_of_blocks_that_lack_some_are_asked_of_another() {
    let (pool, fakes) = pool(2);
    let mut headers: Vec<Header> = (10..=20).map(fake::header).collect();
    pool.logs_of_blocks(&headers, &LogFilter::default()).await.expect("logs");
    assert_eq!(fakes.iter().filter(|fake| fake.asked() > 0).count(), 1, "no bloom has any");
    *headers[3].logs_bloom = Bloom::repeat_byte(0xff);
    let logs = pool.logs_of_blocks(&headers, &LogFilter::default()).await.expect("what there is");
    assert!(logs.is_empty());
    assert!(fakes.iter().all(|fake| fake.asked() > 0));
    assert_eq!(pool.status().iter().filter(|status| status.logs_set_aside_ms.is_some()).count(), 0);
    assert!(pool.logs_of_blocks(&[], &LogFilter::default()).await.expect("nothing").is_empty());
}

/// Asks for a block that has a log, until the tasks beside it have ended.
async fn ask_for_the_log(pool: &EvmPool) {
    for number in 10..20 {
        let logs = pool.block_logs(&fake::header_with_log(number), &LogFilter::default()).await;
        assert_eq!(logs.map(|logs| logs.len()), Ok(1));
        advance(Duration::from_secs(5)).await;
    }
}

/// An endpoint that leaves out what its own headers have is not asked about logs.
#[tokio::test(start_paused = true)]
async fn an_endpoint_that_leaves_out_logs_is_set_aside() {
    let (pool, fakes) = pool(2);
    fakes.iter().for_each(|fake| fake.manner().has_bloom = true);
    fakes[1].manner().has_log = true;
    ask_for_the_log(&pool).await;
    let status = pool.status();
    assert!(status[0].false_answers > 0 && status[1].false_answers == 0, "{status:?}");
}

/// One that has a log which the other does not have may have made it up, and its header too.
#[tokio::test(start_paused = true)]
async fn an_endpoint_is_not_called_false_on_anothers_word() {
    let (pool, fakes) = pool(2);
    (fakes[1].manner().has_bloom, fakes[1].manner().has_log) = (true, true);
    ask_for_the_log(&pool).await;
    assert_eq!(pool.status().iter().map(|status| status.false_answers).sum::<u64>(), 0);
}

/// One that is behind has no logs of a block, and is not false for that.
#[tokio::test(start_paused = true)]
async fn an_endpoint_that_is_behind_is_not_called_false() {
    let (pool, fakes) = pool(2);
    fakes.iter().for_each(|fake| fake.manner().has_bloom = true);
    fakes[0].manner().head = 5;
    fakes[1].manner().has_log = true;
    ask_for_the_log(&pool).await;
    assert_eq!(pool.status().iter().map(|status| status.false_answers).sum::<u64>(), 0);
}

/// Several endpoints may be behind at once: that none has logs of a block whose bloom has some is
/// no answer.
#[tokio::test(start_paused = true)]
async fn endpoints_that_have_no_logs_against_the_bloom_do_not_confirm_each_other() {
    let (pool, fakes) = pool(3);
    let mut header = fake::header(12);
    *header.logs_bloom = Bloom::repeat_byte(0xff);
    let error = pool.block_logs(&header, &LogFilter::default()).await.expect_err("no answer");
    assert_eq!(error.kind, ChainErrorKind::UnknownBlock, "{error}");
    assert!(fakes.iter().all(|fake| fake.asked() > 0));
}

#[tokio::test(start_paused = true)]
async fn a_second_false_answer_counts_for_twice_as_long() {
    let (pool, _) = pool(2);
    let aside_s = || pool.status()[0].logs_set_aside_ms.map(|ms| ms / 1_000);
    pool.report_false_answer("http://a", &MISSING);
    advance(Duration::from_secs(30)).await;
    pool.report_false_answer("http://a", &MISSING);
    assert_eq!(aside_s(), Some(30), "it is set aside already");
    advance(Duration::from_secs(40)).await;
    pool.report_false_answer("http://a", &MISSING);
    assert_eq!(aside_s(), Some(120));
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_is_alone_is_asked_all_the_same() {
    let (pool, fakes) = pool(1);
    pool.report_false_answer("http://a", &MISSING);
    pool.logs(LogSpan::Range(BLOCKS), &LogFilter::default()).await.expect("logs");
    assert!(fakes[0].asked() > 0);
}

fn header() -> windlass_core::chain::BlockHeader {
    let windlass_core::chain::BlockRef { number, hash } = block(12);
    windlass_core::chain::BlockHeader { number, hash, parent_hash: hash, timestamp_s: 0 }
}

/// One that hangs is waited for as long as answers usually take ten times over, not for ever, and
/// is left out when it does so again.
#[tokio::test(start_paused = true)]
async fn an_endpoint_that_hangs_holds_up_no_comparison() {
    let (pool, fakes) = pool(2);
    let span = LogSpan::Range(BlockRange { from: 1, to: 2 });
    for _ in 0..30 {
        pool.logs(span, &LogFilter::default()).await.expect("logs");
    }
    fakes[0].manner().fault = Some(Fault::Silent);
    for round in 0..3 {
        let start = Instant::now();
        let answers = pool.logs_from_each(span, &LogFilter::default()).await;
        assert!(start.elapsed() <= Duration::from_secs(2), "{:?}", start.elapsed());
        assert_eq!(answers.iter().filter(|one| one.answer.is_ok()).count(), 1, "round {round}");
    }
    let (start, answers) = (Instant::now(), pool.logs_from_each(span, &LogFilter::default()).await);
    assert!(start.elapsed() < Duration::from_secs(1) && answers[0].answer.is_err(), "it is not asked");
    assert!(pool.endpoint_notes()[0].contains("http://a is"), "{:?}", pool.endpoint_notes());
}

/// Whatever else an endpoint answers, one that keeps failing at logs is not asked about them.
#[tokio::test(start_paused = true)]
async fn an_endpoint_that_keeps_failing_at_logs_is_set_aside_for_them() {
    let (pool, fakes) = pool(2);
    let span = LogSpan::Range(BLOCKS);
    fakes[0].manner().fault = Some(Fault::SilentAboutLogs);
    for _ in 0..3 {
        pool.logs_from_each(span, &LogFilter::default()).await;
        pool.header_from_each(BlockTag::Latest).await;
    }
    let (start, answers) = (Instant::now(), pool.logs_from_each(span, &LogFilter::default()).await);
    assert_eq!(answers.iter().map(|one| one.answer.is_ok()).collect::<Vec<_>>(), [false, true]);
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert!(
        pool.endpoint_notes()[0].contains("http://a is not asked about logs"),
        "{:?}",
        pool.endpoint_notes()
    );
    fakes[0].manner().fault = None;
    advance(Duration::from_secs(31)).await;
    let answers = pool.logs_from_each(span, &LogFilter::default()).await;
    assert!(answers.iter().all(|one| one.answer.is_ok()));
}

/// One that fails now and then is heard again soon; one that is gone is asked ever more seldom.
#[tokio::test(start_paused = true)]
async fn an_endpoint_that_answered_since_is_set_aside_for_a_moment_only() {
    let (pool, fakes) = pool(2);
    let span = LogSpan::Range(BLOCKS);
    let hears_both = async || {
        let answers = pool.logs_from_each(span, &LogFilter::default()).await;
        answers.iter().all(|one| one.answer.is_ok())
    };
    for _ in 0..5 {
        fakes[0].manner().fault = Some(Fault::SilentAboutLogs);
        for _ in 0..3 {
            assert!(!hears_both().await);
        }
        fakes[0].manner().fault = None;
        assert!(!hears_both().await, "it is set aside");
        advance(Duration::from_secs(1)).await;
        assert!(hears_both().await, "for a second");
    }
    fakes[0].manner().fault = Some(Fault::SilentAboutLogs);
    let (asked, began) = (fakes[0].asked(), Instant::now());
    while began.elapsed() < Duration::from_secs(600) {
        hears_both().await;
        advance(Duration::from_millis(500)).await;
    }
    let times = fakes[0].asked() - asked;
    assert!((15..60).contains(&times), "{times}");
}

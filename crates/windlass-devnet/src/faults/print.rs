//! Prints a plan as the line of text that `parse` reads.

use std::fmt;

use super::{
    plan::{DEFAULT_HOLD_MS, DEFAULT_RETRY_AFTER_S, Fault, Plan, Rule, UnknownHash},
    share::Share,
};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, rule) in self.rules.iter().enumerate() {
            write!(f, "{}{rule}", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = self.share;
        match &self.fault {
            Fault::TooManyRequests { retry_after_s } => {
                write!(f, "429={share}")?;
                match retry_after_s {
                    None => f.write_str(":none")?,
                    Some(DEFAULT_RETRY_AFTER_S) => {}
                    Some(seconds) => write!(f, ":{seconds}s")?,
                }
            }
            Fault::TimeOut { hold_ms } => {
                write!(f, "timeout={share}")?;
                if *hold_ms != DEFAULT_HOLD_MS {
                    write!(f, ":{hold_ms}ms")?;
                }
            }
            Fault::RateLimitBody => write!(f, "ratelimit={share}")?,
            Fault::ServerError { status } => write!(f, "{status}={share}")?,
            Fault::Reset => write!(f, "reset={share}")?,
            Fault::Truncate => write!(f, "truncate={share}")?,
            Fault::NullReceipts => write!(f, "nullreceipts={share}")?,
            Fault::NoLogTime => write!(f, "nologtime={share}")?,
            Fault::Refuse => write!(f, "refuse={share}")?,
            valued => {
                write_valued(f, valued)?;
                if share != Share::ALWAYS {
                    write!(f, "*{share}")?;
                }
            }
        }
        self.method.as_ref().map_or(Ok(()), |method| write!(f, "@{method}"))
    }
}

fn write_valued(f: &mut fmt::Formatter<'_>, fault: &Fault) -> fmt::Result {
    match fault {
        Fault::Latency { from_ms, to_ms } if from_ms == to_ms => write!(f, "latency={from_ms}ms"),
        Fault::Latency { from_ms, to_ms } => write!(f, "latency={from_ms}ms..{to_ms}ms"),
        Fault::ChainId(id) => write!(f, "chainid={id}"),
        Fault::BatchLimit(calls) => write!(f, "batch={calls}"),
        Fault::LogLimit { provider, limit } => write!(f, "logs={}:{limit}", provider.name()),
        Fault::LogRange { refusal, blocks } => write!(f, "logs={}:{blocks}", refusal.name()),
        Fault::RateLimit { calls_per_s, burst, refusal } if calls_per_s == burst => {
            write!(f, "rate={calls_per_s}{}", refusal.suffix())
        }
        Fault::RateLimit { calls_per_s, burst, refusal } => {
            write!(f, "rate={calls_per_s}:{burst}{}", refusal.suffix())
        }
        Fault::Lie(lie) => write!(f, "lie={}", lie.name()),
        Fault::Lag { lagging, nodes, blocks, unknown_hash } => {
            let empty = if *unknown_hash == UnknownHash::Empty { ":empty" } else { "" };
            write!(f, "lag={lagging}of{nodes}:{blocks}{empty}")
        }
        _ => Ok(()),
    }
}

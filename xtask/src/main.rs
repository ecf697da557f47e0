//! The project's own chores: `cargo xtask` lists them.

mod bench;
mod book;
mod build_bench;
mod chores;
mod cluster;
mod comparison;
mod crate_bench;
mod dialect;
mod dist;
mod fuzz;
mod gate;
mod hostile;
mod limit;
mod live;
mod measure;
mod memory;
mod messages;
mod page;
mod payload;
mod peers;
mod process;
mod publish;
mod python;
mod python_bench;
mod robustness;
mod scan;
mod serve;
mod source;
mod sources;
mod start;
mod suite;
mod tables;
mod tidy;
mod trace;
mod tribeca;
mod truth;
mod untidy;
mod versions;
mod web_vendor;
mod workspace;
mod ws;

use std::env;
use std::process::ExitCode;

use crate::chores::USAGE;
use crate::gate::Tier;
use crate::workspace::root;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test", rest @ ..] => gate::test(rest),
        ["peers", "--anew", rest @ ..] => peers::anew(rest),
        ["ci"] => gate::ci(Tier::Quick, None),
        ["ci", "--from", step] => gate::ci(Tier::Quick, Some(step)),
        ["ci", "--full"] => gate::ci(Tier::Full, None),
        ["ci", "--full", "--from", step] | ["ci", "--from", step, "--full"] => {
            gate::ci(Tier::Full, Some(step))
        }
        [limit::GUARD] => {
            limit::guard(std::io::stdin().lock());
            Ok(())
        }
        ["tidy"] => tidy::run(),
        ["tidy", "--dialect"] => root().and_then(|root| dialect::list(&root, None)),
        ["tidy", "--dialect", name] => root().and_then(|root| dialect::list(&root, Some(name))),
        ["tidy", "--messages"] => root().and_then(|root| {
            print!("{}", messages::written(&messages::all(&root)?));
            Ok(())
        }),
        ["fuzz", rest @ ..] => fuzz::command(rest),
        ["sanitize"] => gate::sanitize(),
        ["python"] => python::check(python::Build::Alone),
        ["python", "--pack"] => python::pack(),
        ["python", "--wheel"] => python::wheel(),
        ["python", "--asan", rest @ ..] => python::asan(rest),
        ["page", rest @ ..] => page::check(python::Build::Alone, rest),
        ["web-vendor"] => web_vendor::command(web_vendor::Mode::Write),
        ["web-vendor", "--check"] => web_vendor::command(web_vendor::Mode::Check),
        ["trace", rest @ ..] => trace::run(rest),
        ["untidy", rest @ ..] => untidy::run(rest),
        ["docs"] => book::make(python::Build::Alone),
        ["publish"] => publish::check(),
        ["dist", rest @ ..] => dist::command(rest),
        ["bench", rest @ ..] => bench::run(rest),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(u8::from(!words.is_empty()) * 2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

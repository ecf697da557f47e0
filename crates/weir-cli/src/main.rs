//! The `weir` command: SQL over network traffic and signalling.
//!
//! `main` reads the command line and calls the module of the command. Standard output is data,
//! standard error is everything else. Exit status: 0 success; 1 success, but damage was found; 2 usage,
//! names, SQL or environment: nothing was run; 3 failure while running.

#[cfg(not(all(feature = "cluster", feature = "serve")))]
mod absent;
#[cfg(any(feature = "cluster", feature = "serve"))]
mod allocator;
mod args;
mod clf;
#[cfg(feature = "cluster")]
mod cluster;
mod command_line;
mod demo;
mod encoder;
mod failure;
mod fields;
mod filter;
mod frame;
mod functions;
mod h248;
mod interface;
mod live;
mod message;
mod overview;
mod progress;
mod quantity;
mod query;
mod refusal;
mod report;
mod ring;
#[cfg(any(feature = "cluster", feature = "serve"))]
mod secret;
#[cfg(feature = "serve")]
mod serve;
mod session;
mod shell;
mod signals;
mod sip;
mod target;
mod watch;
mod ws;

use std::io;
use std::process::ExitCode;

use command_line::{Cli, Command};
use failure::{Failure, printed};
use message::{ColorChoice, Messages};

fn main() -> ExitCode {
    let line: Vec<_> = std::env::args_os().collect();
    // The version needs neither the parser nor threads.
    if command_line::asks_for_version(&line) {
        return match printed(command_line::write_version(&mut io::stdout())) {
            Ok(code) => code,
            Err(failure) => failure.report(Messages::new(ColorChoice::Auto, false)),
        };
    }
    signals::heed();
    if line.len() == 1
        && let Some(outcome) = alone()
    {
        let messages = Messages::new(ColorChoice::Auto, false);
        return outcome.unwrap_or_else(|failure| failure.report(messages));
    }
    if command_line::asks_for_build(&line) {
        return match printed(command_line::write_build(&mut io::stdout())) {
            Ok(code) => code,
            Err(failure) => failure.report(Messages::new(ColorChoice::Auto, false)),
        };
    }
    let cli = match command_line::parse(line.iter().cloned()) {
        Ok(cli) => cli,
        Err(refusal) => return refusal.report(Messages::new(ColorChoice::Auto, false)),
    };
    let messages = Messages::new(cli.global.color, cli.global.quiet);
    for outdated in command_line::outdated(&line) {
        messages.note(&outdated);
    }
    match run(&cli, messages) {
        Ok(code) => code,
        Err(failure) => failure.report(messages),
    }
}

/// Does what `weir` without a word stands for; `None` when that is help.
fn alone() -> Option<Result<ExitCode, Failure>> {
    let global = args::Global {
        color: ColorChoice::of_environment(),
        quiet: false,
        overwrite: false,
    };
    let messages = Messages::new(global.color, false);
    match shell::BareCommand::here() {
        shell::BareCommand::Help => None,
        shell::BareCommand::Shell => Some(shell::run(&shell::Shell::plain(), global, messages)),
        shell::BareCommand::Script => match shell::script() {
            // An empty script gives the help.
            Ok(script) if script.trim().is_empty() => None,
            Ok(script) => {
                let shell = shell::Shell::plain();
                Some(shell::answer_script(&shell, &script, global, messages))
            }
            Err(failure) => Some(Err(failure)),
        },
    }
}

fn run(cli: &Cli, messages: Messages) -> Result<ExitCode, Failure> {
    let global = cli.global;
    match &cli.command {
        Command::Query(query) => query::run(query, global, messages),
        Command::Live(live) => live::run(live, global, messages),
        Command::Fields(fields) => fields::run(fields, global, messages),
        Command::Filter(filter) => filter::run(filter, global, messages),
        Command::Carve(carve) => filter::carve(carve, global, messages),
        Command::Functions(list) => functions::run(list, global, messages),
        Command::Tables(list) => functions::tables(list, global, messages),
        Command::Demo(demo) => demo::run(demo, global, messages),
        Command::Clf(clf) => clf::run(clf, global, messages),
        Command::H248(h248) => h248::run(h248, global, messages),
        Command::Ws(ws) => ws::run(ws, global, messages),
        #[cfg(feature = "serve")]
        Command::Serve(serve) => serve::run(serve, global, messages),
        #[cfg(not(feature = "serve"))]
        Command::Serve(_) => Err(absent::refusal("'weir serve'")),
        #[cfg(feature = "cluster")]
        Command::Cluster(cluster) => cluster::run(cluster, messages),
        #[cfg(not(feature = "cluster"))]
        Command::Cluster(_) => Err(absent::refusal("'weir cluster'")),
        Command::Summary(summary) => overview::run(summary, global, messages),
        Command::Report(report) => report::run(report, global, messages),
        Command::Shell(shell) => shell::run(shell, global, messages),
        Command::Sip(sip) => sip::run(sip, global, messages),
        Command::Completions { shell } => {
            printed(command_line::write_completions(*shell, &mut io::stdout()))
        }
        Command::Man { dir: None } => printed(command_line::write_man(&mut io::stdout())),
        Command::Man { dir: Some(dir) } => {
            for (name, page) in command_line::man_pages().map_err(Failure::from)? {
                std::fs::create_dir_all(dir).map_err(|error| Failure::file(dir, &error))?;
                target::put_one_of_many(&dir.join(name), &page, global)?;
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

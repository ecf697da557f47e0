//! `weir ws advise`: one setting, why, what it saves, and how it is written down.

use std::process::ExitCode;

use weir_ws::exact::ClassSizes;
use weir_ws::{
    Budget, Candidate, Library, Setting, ZlibBuild, advice_csv, advice_json, bytes_text,
    connection_memory, html_report, resident_bytes, resident_inflate_bytes, snippet,
};

use super::args::{Advise, Build, ReportArgs, ReportFormat};
use super::print::TextTable;
use super::study;
use crate::args::Global;
use crate::failure::Failure;
use crate::message::Messages;
use crate::refusal::Refusal;
use weir_output::grouped;

/// Reads, studies, recommends.
pub(super) fn run(args: &Advise, global: Global, messages: Messages) -> Result<ExitCode, Failure> {
    let target = args.report.target(global)?;
    let (result, kept, totals) = study::read(&args.input, &args.grid, global, messages)?;
    let total = result.total(None);
    if total.messages == 0 {
        return Err(Refusal::usage(
            "no messages to advise on",
            "--input-format names the format of an input whose content does not show it",
        )
        .into());
    }
    study::warn(&result, messages);
    let times = study::times(&args.grid, &kept, &total);
    let budget = budget(args);
    let advice = weir_ws::advise(&total, &times, &budget);
    let report = match args.report.chosen() {
        ReportFormat::Csv => advice_csv(&advice),
        ReportFormat::Json => advice_json(&advice, args.threshold),
        ReportFormat::Html => html_report(&args.input.title(), &result, &advice),
        ReportFormat::Table => {
            let mut text = study::summary(&result, &total, &totals.extensions);
            text.push_str(&format!("\n{}\n", capital(&advice.reason)));
            if let Some(chosen) = &advice.chosen {
                savings(chosen, &total, &budget).write("Savings", &mut text);
            }
            for warning in &advice.warnings {
                text.push_str(&format!("\nNote: {warning}\n"));
            }
            front(&advice, times.is_measured(), &mut text);
            if let Some(chosen) = &advice.chosen {
                snippets(chosen.setting, args, &mut text);
            }
            text
        }
    };
    ReportArgs::write(target.as_ref(), &report)?;
    if advice.chosen.is_none() && args.report.chosen() != ReportFormat::Table {
        messages.warning(&advice.reason);
    }
    Ok(ExitCode::from(u8::from(totals.damaged)))
}

fn budget(args: &Advise) -> Budget {
    let mut budget = Budget::new(args.connections, args.memory as u64);
    budget.cores = args.cpu;
    budget.messages_per_second = args.rate.map(|rate| rate as f64);
    budget.build = match args.zlib {
        Build::Stock => ZlibBuild::STOCK,
        Build::Ng => ZlibBuild::NEXT_GENERATION,
    };
    budget
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

/// The recommended setting beside no compression and zlib's default.
fn savings(chosen: &Candidate, total: &ClassSizes, budget: &Budget) -> TextTable {
    let mut table = TextTable::new(&["", "not compressed", "zlib's default, 15/8", "recommended"]);
    let mean = total.bytes as f64 / total.messages.max(1) as f64;
    let default = total.ratio(Setting::ZLIB);
    // 0 where the default was not studied.
    let known = total.compressed(Setting::ZLIB) > 0;
    let or_blank = |text: String| if known { text } else { String::new() };
    table.row(vec![
        "bytes per message".to_owned(),
        format!("{mean:.1}"),
        or_blank(format!("{:.1}", mean * default)),
        format!("{:.1}", mean * chosen.ratio),
    ]);
    if let Some(rate) = budget.messages_per_second {
        let second = |ratio: f64| format!("{:.2} MB/s", mean * ratio * rate / 1e6);
        table.row(vec![
            "on the wire".to_owned(),
            second(1.0),
            or_blank(second(default)),
            second(chosen.ratio),
        ]);
        let per_day = mean * (1.0 - chosen.ratio) * rate * 86_400.0;
        table.row(vec![
            "saved per day".to_owned(),
            String::new(),
            String::new(),
            format!("{:.2} GB", per_day / 1e9),
        ]);
    }
    if let Some(cores) = chosen.cores {
        table.row(vec![
            "cores".to_owned(),
            "0".to_owned(),
            String::new(),
            format!("{cores:.2}"),
        ]);
    }
    let all = |setting| {
        let one = connection_memory(setting, setting, budget.build).total();
        bytes_text(one.saturating_mul(budget.connections))
    };
    table.row(vec![
        format!("memory of {} connections", grouped(budget.connections)),
        "0 B".to_owned(),
        all(Setting::ZLIB),
        bytes_text(chosen.memory_bytes),
    ]);
    let resident = |setting: Setting| {
        let sent = (mean * RESIDENT_MESSAGES as f64) as u64;
        let one = match setting.takeover {
            true => {
                resident_bytes(setting, budget.build, sent, mean as u64)
                    + resident_inflate_bytes(setting.window_bits, budget.build, sent)
            }
            false => 0,
        };
        bytes_text(one.saturating_mul(budget.connections))
    };
    table.row(vec![
        format!("resident after {RESIDENT_MESSAGES} messages each, about"),
        "0 B".to_owned(),
        resident(Setting::ZLIB),
        resident(chosen.setting),
    ]);
    table
}

/// The number of messages after which usual windows are full.
const RESIDENT_MESSAGES: u64 = 300;

fn front(advice: &weir_ws::Advice, measured: bool, text: &mut String) {
    let micros = match measured {
        true => "µs per message",
        false => "\u{b5}s (estimate)",
    };
    let headings = [
        "setting",
        "ratio",
        "a connection",
        "all",
        micros,
        "cores",
        "fits",
    ];
    let mut table = TextTable::new(&headings);
    let all = advice.front();
    // The front of a full grid has a hundred settings: those that a person can tell apart.
    let mut last = f64::NEG_INFINITY;
    let mut hidden = 0;
    for candidate in &all {
        let is_chosen = advice
            .chosen
            .is_some_and(|chosen| chosen.setting == candidate.setting);
        if candidate.ratio < last + RATIO_STEP && !is_chosen {
            hidden += 1;
            continue;
        }
        last = candidate.ratio;
        let mark = if is_chosen { " *" } else { "" };
        table.row(vec![
            format!("{}{mark}", candidate.setting),
            format!("{:.4}", candidate.ratio),
            bytes_text(candidate.connection_bytes),
            bytes_text(candidate.memory_bytes),
            format!("{:.1}", candidate.micros),
            candidate
                .cores
                .map_or_else(String::new, |cores| format!("{cores:.2}")),
            (if candidate.fits { "yes" } else { "no" }).to_owned(),
        ]);
    }
    let title = "The Pareto front: no other setting is as good in ratio, memory and CPU time (* recommended)";
    table.write(title, text);
    if hidden > 0 {
        text.push_str(&format!(
            "  {hidden} more within half a percent of these: --format json has all\n"
        ));
    }
}

/// Ratios that are nearer than this share a line.
const RATIO_STEP: f64 = 0.005;

fn snippets(setting: Setting, args: &Advise, text: &mut String) {
    text.push_str("\nConfiguration\n");
    let libraries = match args.library {
        Some(library) => vec![library],
        None => Library::ALL.to_vec(),
    };
    for library in libraries {
        let snippet = snippet(library, setting, args.threshold);
        text.push_str(&format!("\n  {}\n", library.name()));
        for line in snippet.code.lines() {
            text.push_str(&format!("    {line}\n"));
        }
        for warning in &snippet.warnings {
            text.push_str(&format!("    ({warning})\n"));
        }
    }
}

//! `weir ws study`: the grid of settings, and what else decides about sizes.

use std::path::PathBuf;
use std::process::ExitCode;

use weir_ws::exact::ClassSizes;
use weir_ws::{
    Budget, CpuTimes, Direction, SampleOptions, Sampled, Setting, StudyResult, ZlibBuild, advise,
    bytes_text, deflate_bytes, html_page, inflate_bytes, sample, study_csv, study_json,
};

use super::args::{CpuTimesFrom, GridArgs, InputArgs, ReportArgs, ReportFormat, Study};
use super::input::{self, InputTotals, MessageSample};
use super::print::{Sections, TextTable};
use super::{codecs, cpu, extra};
use crate::args::Global;
use crate::failure::Failure;
use crate::message::Messages;
use crate::refusal::Refusal;
use weir_output::grouped;

/// Reads, studies, reports.
pub(super) fn run(args: &Study, global: Global, messages: Messages) -> Result<ExitCode, Failure> {
    if args.sample {
        return sampled(args, global, messages);
    }
    let target = args.report.target(global)?;
    let (result, kept, totals) = read(&args.input, &args.grid, global, messages)?;
    let total = result.total(None);
    if total.messages == 0 {
        return Err(nothing(args));
    }
    warn(&result, messages);
    let times = times(&args.grid, &kept, &total);
    let mut more = Sections::default();
    if matches!(
        args.report.chosen(),
        ReportFormat::Table | ReportFormat::Html
    ) {
        if args.strategies {
            extra::strategies(&kept.largest(), &mut more);
        }
        if args.codecs {
            codecs::compare(&kept.largest(), &mut more);
        }
        if args.more {
            extra::studies(&kept, &mut more);
        }
    } else if args.strategies || args.codecs || args.more {
        messages.warning("--strategies, --codecs and --more are for tables and pages: JSON and CSV have the grid");
    }
    let report = match args.report.chosen() {
        ReportFormat::Csv => study_csv(&result, Some(&times)),
        ReportFormat::Json => study_json(&result, Some(&times)),
        ReportFormat::Html => {
            // The plots need what the settings cost; no budget rules anything out.
            let budget = Budget::new(1, u64::MAX);
            let advice = advise(&total, &times, &budget);
            let mut page = html_page(&args.input.title(), &result, &advice);
            more.put(&mut page);
            page.finish()
        }
        ReportFormat::Table => {
            let mut text = summary(&result, &total, &totals.extensions);
            grid_tables(&total, &times, args.grid.cells(), &mut text);
            class_table(&result, args.grid.cells(), &mut text);
            more.write(&mut text);
            text
        }
    };
    ReportArgs::write(target.as_ref(), &report)?;
    Ok(ExitCode::from(u8::from(totals.damaged)))
}

fn nothing(args: &Study) -> Failure {
    let inputs = &args.input.inputs;
    let is_live = args.input.live.capture.interface.is_some();
    // Pipes are read once.
    let is_capture = |path: &PathBuf| path.is_file() && weir_capture::open(path).is_ok();
    let hint = match is_live || inputs.iter().any(is_capture) {
        true => "weir ws stats shows the connections; TLS (wss://) cannot be read",
        false => "--input-format names the format of an input whose content does not show it",
    };
    Refusal::usage(format!("no messages in {}", args.input.title()), hint).into()
}

/// Reads the messages of a study. Returns its result, a sample of the messages, and what was read.
pub(super) fn read(
    inputs: &InputArgs,
    grid: &GridArgs,
    global: Global,
    messages: Messages,
) -> Result<(StudyResult, MessageSample, InputTotals), Failure> {
    let mut study = weir_ws::Study::new(grid.study_options());
    let mut kept = MessageSample::default();
    let totals = input::read(inputs, global, messages, &mut |message| {
        kept.take(message);
        study.message(message);
    })?;
    Ok((study.finish(), kept, totals))
}

/// Warns about limits that changed the figures.
pub(super) fn warn(result: &StudyResult, messages: Messages) {
    if result.windows_cut > 0 {
        messages.warning(&format!(
            "{} windows were reset for lack of memory: sizes with takeover are a little too large",
            result.windows_cut
        ));
    }
    if result.connections_left_out > 0 {
        messages.warning(&format!(
            "{} messages of further connections were left out",
            grouped(result.connections_left_out)
        ));
    }
    if result.too_long > 0 {
        messages.warning(&format!(
            "{} messages are too long to be studied",
            grouped(result.too_long)
        ));
    }
}

/// CPU times, measured or estimated.
pub(super) fn times(grid: &GridArgs, kept: &MessageSample, total: &ClassSizes) -> CpuTimes {
    let mean = total.bytes as f64 / total.messages.max(1) as f64;
    let measured = match grid.cpu_times {
        CpuTimesFrom::Measured => cpu::measure(&kept.largest(), grid.cells(), mean),
        CpuTimesFrom::Estimate => None,
    };
    measured.unwrap_or_else(|| CpuTimes::estimate(mean))
}

/// `666 messages, 87,904 bytes, 132 each` and what was agreed on.
pub(super) fn summary(result: &StudyResult, total: &ClassSizes, extensions: &[String]) -> String {
    let framed: u64 = result.classes.iter().map(|class| class.framed_bytes).sum();
    let mut text = format!(
        "{} messages, {} bytes, {} each on average, {} bytes in frames; {} (directions of connections)\n",
        grouped(total.messages),
        grouped(total.bytes),
        total.bytes / total.messages.max(1),
        grouped(framed),
        match result.contexts {
            1 => "1 context".to_owned(),
            contexts => format!("{} contexts", grouped(contexts)),
        }
    );
    let mut agreed: Vec<&str> = extensions.iter().map(String::as_str).collect();
    agreed.sort_unstable();
    agreed.dedup();
    for extension in agreed.iter().take(8) {
        text.push_str(&format!(
            "currently negotiated: {}\n",
            weir_output::text::escaped(extension)
        ));
    }
    text
}

/// One line a value of a parameter, the others as zlib has them by default, as far as they were
/// studied.
fn grid_tables(total: &ClassSizes, times: &CpuTimes, cells: weir_ws::Cells, text: &mut String) {
    let Some(base) = base(cells) else {
        return;
    };
    let lines = |name: &str, settings: Vec<(String, Setting)>| {
        let micros = match times.is_measured() {
            true => "µs per message",
            false => "\u{b5}s (estimate)",
        };
        let headings = [
            name,
            "ratio",
            "bytes",
            micros,
            "deflate memory",
            "inflate memory",
        ];
        let mut table = TextTable::new(&headings);
        for (name, setting) in settings {
            if cells.contains(setting) {
                table.row(line(name, setting, total, times));
            }
        }
        table
    };
    let one = |setting: Setting| setting.to_string();
    let takeover = [false, true].map(|takeover| {
        let name = if takeover { "yes" } else { "no" };
        (name.to_owned(), Setting { takeover, ..base })
    });
    lines("takeover", takeover.to_vec())
        .write(&format!("Context takeover, otherwise {}", one(base)), text);
    let windows =
        (8..=15).map(|window_bits| (window_bits.to_string(), base.with_window_bits(window_bits)));
    lines("window bits", windows.collect())
        .write(&format!("Window bits, otherwise {}", one(base)), text);
    if cells.contains(base.with_window_bits(8)) {
        text.push_str(
            "  8: zlib deflates with 9 bits where 8 are negotiated; its distances stay below 256\n",
        );
    }
    let mem_levels =
        (1..=9).map(|mem_level| (mem_level.to_string(), Setting { mem_level, ..base }));
    lines("memLevel", mem_levels.collect())
        .write(&format!("memLevel, otherwise {}", one(base)), text);
    let levels = (1..=9).map(|level| (level.to_string(), Setting { level, ..base }));
    lines("level", levels.collect()).write(&format!("Level, otherwise {}", one(base)), text);
    windows_by_mem_levels(total, base, cells, text);
}

/// zlib's default where it was studied, else the nearest that was.
fn base(cells: weir_ws::Cells) -> Option<Setting> {
    let zlib = Setting::ZLIB;
    let far = |setting: &Setting| {
        (
            setting.takeover != zlib.takeover,
            setting.level.abs_diff(zlib.level),
            setting.window_bits.abs_diff(zlib.window_bits),
            setting.mem_level.abs_diff(zlib.mem_level),
        )
    };
    Setting::all()
        .filter(|&setting| cells.contains(setting))
        .min_by_key(far)
}

fn line(name: String, setting: Setting, total: &ClassSizes, times: &CpuTimes) -> Vec<String> {
    let build = ZlibBuild::STOCK;
    vec![
        name,
        format!("{:.4}", total.ratio(setting)),
        grouped(total.compressed(setting)),
        micros(times, setting),
        bytes_text(deflate_bytes(setting.window_bits, setting.mem_level, build)),
        bytes_text(inflate_bytes(setting.window_bits, build).1),
    ]
}

pub(super) fn micros(times: &CpuTimes, setting: Setting) -> String {
    format!("{:.1}", times.micros(setting))
}

fn windows_by_mem_levels(
    total: &ClassSizes,
    base: Setting,
    cells: weir_ws::Cells,
    text: &mut String,
) {
    let mem_levels: Vec<u8> = (1..=9)
        .filter(|&mem_level| cells.contains(Setting { mem_level, ..base }))
        .collect();
    let windows: Vec<u8> = (8..=15)
        .filter(|&window_bits| cells.contains(base.with_window_bits(window_bits)))
        .collect();
    if mem_levels.len() < 2 || windows.len() < 2 {
        return;
    }
    let headings: Vec<String> = mem_levels.iter().map(u8::to_string).collect();
    let mut all = vec!["window bits"];
    all.extend(headings.iter().map(String::as_str));
    let mut table = TextTable::new(&all);
    for window_bits in windows {
        let ratios = mem_levels.iter().map(|&mem_level| {
            let setting = base.with_window_bits(window_bits).with_mem_level(mem_level);
            format!("{:.4}", total.ratio(setting))
        });
        table.row(
            std::iter::once(window_bits.to_string())
                .chain(ratios)
                .collect(),
        );
    }
    table.write(
        &format!("Ratio by window bits and memLevel, otherwise {base}"),
        text,
    );
}

/// Directions and kinds, with four settings that libraries have as defaults.
fn class_table(result: &StudyResult, cells: weir_ws::Cells, text: &mut String) {
    let zlib = Setting::ZLIB;
    let settings: Vec<Setting> = [
        zlib,
        zlib.with_window_bits(12).with_mem_level(5),
        zlib.with_window_bits(9).with_mem_level(1),
        zlib.with_takeover(false),
    ]
    .into_iter()
    .filter(|&setting| cells.contains(setting))
    .collect();
    let names: Vec<String> = settings.iter().map(Setting::to_string).collect();
    let mut headings = vec!["kind", "direction", "messages", "bytes"];
    headings.extend(names.iter().map(String::as_str));
    let mut table = TextTable::new(&headings);
    let mut put = |kind: &str, direction: &str, sizes: &ClassSizes| {
        let mut row = vec![
            kind.to_owned(),
            direction.to_owned(),
            grouped(sizes.messages),
            grouped(sizes.bytes),
        ];
        row.extend(
            settings
                .iter()
                .map(|&setting| format!("{:.4}", sizes.ratio(setting))),
        );
        table.row(row);
    };
    for direction in [Direction::ToServer, Direction::ToClient] {
        let sizes = result.total(Some(direction));
        if sizes.messages > 0 {
            put("all", direction.name(), &sizes);
        }
    }
    for class in result.classes.iter().take(KINDS_SHOWN) {
        let direction = class.direction.map_or("", Direction::name);
        put(&class.kind, direction, &class.sizes);
    }
    table.write("Ratio by direction and kind of message", text);
    let hidden = result.classes.len().saturating_sub(KINDS_SHOWN);
    if hidden > 0 {
        text.push_str(&format!("  {hidden} more kinds: --format csv has all\n"));
    }
}

/// Kinds in the table for reading.
const KINDS_SHOWN: usize = 16;

/// The sampled mode.
fn sampled(args: &Study, global: Global, messages: Messages) -> Result<ExitCode, Failure> {
    let format = args.report.chosen();
    if !matches!(format, ReportFormat::Table | ReportFormat::Csv) {
        return Err(Refusal::usage(
            "a sample is written as tables or CSV",
            "--format csv has every setting with its interval",
        )
        .into());
    }
    let target = args.report.target(global)?;
    let mut bytes = Vec::new();
    let mut ends = Vec::new();
    let mut cut = false;
    let totals = input::read(&args.input, global, messages, &mut |message| {
        if message.opcode.is_control() {
            return;
        }
        if bytes.len() + message.payload.len() > SAMPLED_BYTES_MAX {
            cut = true;
            return;
        }
        bytes.extend_from_slice(message.payload);
        ends.push(bytes.len());
    })?;
    if cut {
        messages.warning(&format!(
            "the sample is taken from the first {} of messages",
            bytes_text(SAMPLED_BYTES_MAX as u64)
        ));
    }
    let begins = std::iter::once(0).chain(ends.iter().copied());
    let all: Vec<&[u8]> = begins
        .zip(&ends)
        .filter_map(|(begin, &end)| bytes.get(begin..end))
        .collect();
    if all.is_empty() {
        return Err(nothing(args));
    }
    let mut options = SampleOptions::default();
    options.engine = args.grid.study_options().engine;
    let found = sample(&all, &options);
    let report = match format {
        ReportFormat::Csv => sampled_csv(&found, args.grid.cells()),
        _ => sampled_tables(&found, all.len(), bytes.len(), args.grid.cells()),
    };
    ReportArgs::write(target.as_ref(), &report)?;
    Ok(ExitCode::from(u8::from(totals.damaged)))
}

/// Bytes of messages that a sample is drawn from.
const SAMPLED_BYTES_MAX: usize = 512 << 20;

fn sampled_csv(found: &Sampled, cells: weir_ws::Cells) -> String {
    let mut text = String::from("takeover,window_bits,level,mem_level,ratio,low,high\n");
    for setting in Setting::all().filter(|&setting| cells.contains(setting)) {
        let estimate = found.estimate(setting);
        text.push_str(&format!(
            "{},{},{},{},{},{},{}\n",
            setting.takeover,
            setting.window_bits,
            setting.level,
            setting.mem_level,
            estimate.ratio,
            estimate.low,
            estimate.high
        ));
    }
    text
}

fn sampled_tables(found: &Sampled, count: usize, bytes: usize, cells: weir_ws::Cells) -> String {
    let mut text = format!(
        "{} messages, {} bytes; a sample of {} blocks, {} bytes{}\n",
        grouped(count as u64),
        grouped(bytes as u64),
        found.blocks,
        grouped(found.bytes),
        if found.complete {
            ", which is everything: ratios are exact"
        } else {
            ""
        }
    );
    let Some(base) = base(cells) else {
        return text;
    };
    let mut put = |name: &str, settings: Vec<(String, Setting)>| {
        let mut table = TextTable::new(&[name, "ratio", "from", "to (95 %)"]);
        for (value, setting) in settings {
            if cells.contains(setting) {
                let estimate = found.estimate(setting);
                let ratios = [estimate.ratio, estimate.low, estimate.high];
                let ratios = ratios.map(|ratio| format!("{ratio:.4}"));
                table.row(std::iter::once(value).chain(ratios).collect());
            }
        }
        table.write(&format!("By {name}, otherwise {base}"), &mut text);
    };
    let takeover = [false, true].map(|takeover| {
        let name = if takeover { "yes" } else { "no" };
        (name.to_owned(), Setting { takeover, ..base })
    });
    put("takeover", takeover.to_vec());
    let windows =
        (8..=15).map(|window_bits| (window_bits.to_string(), base.with_window_bits(window_bits)));
    put("window bits", windows.collect());
    let mem_levels =
        (1..=9).map(|mem_level| (mem_level.to_string(), Setting { mem_level, ..base }));
    put("memLevel", mem_levels.collect());
    let levels = (1..=9).map(|level| (level.to_string(), Setting { level, ..base }));
    put("level", levels.collect());
    text
}

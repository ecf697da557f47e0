//! A study as one HTML file: tables, and plots in SVG, without scripts or anything to load.

use crate::advise::{Advice, bytes_text};
use crate::library::{Library, snippet};
use crate::setting::Setting;
use crate::study::StudyResult;
use crate::wire::Direction;

use weir_page::{Escaped, Page, Point};

/// Writes the report. `title` is any text, such as the name of the transcript. The report has a few hundred kilobytes at most,
/// whatever the input is.
#[must_use]
pub fn html_report(title: &str, study: &StudyResult, advice: &Advice) -> String {
    html_page(title, study, advice).finish()
}

/// [`html_report`], to which more can be added at the end.
#[must_use]
pub fn html_page(title: &str, study: &StudyResult, advice: &Advice) -> Page {
    let mut page = Page::new(
        &format!("{title}: permessage-deflate"),
        &format!("permessage-deflate for {title}"),
    );
    let total = study.total(None);
    page.paragraph(&format!(
        "{} messages, {} before compression, {} windows.",
        total.messages,
        bytes_text(total.bytes),
        study.contexts
    ));
    page.put(format_args!(
        "<p class=\"advice\">{}</p>\n",
        Escaped(&advice.reason)
    ));
    if !advice.warnings.is_empty() {
        page.put(format_args!("<ul>\n"));
        for warning in &advice.warnings {
            page.put(format_args!("<li>{}</li>\n", Escaped(warning)));
        }
        page.put(format_args!("</ul>\n"));
    }
    plots(&mut page, study, advice);
    tables(&mut page, study, advice);
    if let Some(chosen) = &advice.chosen {
        page.heading("Configuration");
        for library in Library::ALL {
            let snippet = snippet(library, chosen.setting, 0);
            page.subheading(library.name());
            page.lines(&snippet.code);
            for warning in &snippet.warnings {
                page.warning(warning);
            }
        }
    }
    page
}

/// The counts of sizes up to 1, 2, 4, 8 and so on bytes, with names for [`Page::histogram`].
#[must_use]
pub fn size_classes(counts: &[u64; 33]) -> Vec<(String, u64)> {
    let named = |(n, &count): (usize, &u64)| (bytes_text(1 << n), count);
    counts.iter().enumerate().map(named).collect()
}

fn plots(page: &mut Page, study: &StudyResult, advice: &Advice) {
    let is_chosen = |setting: Setting| {
        advice
            .chosen
            .is_some_and(|chosen| chosen.setting == setting)
    };
    let points = |x: &dyn Fn(&crate::Candidate) -> f64| -> Vec<Point> {
        let point = |c: &crate::Candidate| Point {
            x: x(c),
            y: c.ratio,
            large: c.on_front,
            ringed: is_chosen(c.setting),
        };
        advice.candidates.iter().map(point).collect()
    };
    page.heading("Ratio against memory per connection");
    let memory = points(&|c| c.connection_bytes as f64 / 1024.0);
    page.scatter(&memory, "KiB per connection", "ratio");
    page.heading("Ratio against CPU");
    page.scatter(&points(&|c| c.micros), "µs per message", "ratio");
    page.paragraph("Large dots: the Pareto front. Ring: the recommended setting.");
    page.heading("Sizes of messages");
    page.histogram(
        &size_classes(&study.histogram()),
        "bytes, up to",
        "messages",
    );
}

fn tables(page: &mut Page, study: &StudyResult, advice: &Advice) {
    front_table(page, advice);
    kinds_table(page, study);
    windows_table(page, study);
}

fn front_table(page: &mut Page, advice: &Advice) {
    page.heading("The Pareto front");
    let rows: Vec<[String; 6]> = advice
        .front()
        .iter()
        .map(|c| {
            [
                c.setting.to_string(),
                format!("{:.4}", c.ratio),
                bytes_text(c.connection_bytes),
                bytes_text(c.memory_bytes),
                format!("{:.1}", c.micros),
                if c.fits { "yes" } else { "no" }.to_owned(),
            ]
        })
        .collect();
    let headings = [
        "setting",
        "ratio",
        "a connection",
        "all connections",
        "µs per message",
        "fits",
    ];
    page.table(&headings, &rows);
}

fn kinds_table(page: &mut Page, study: &StudyResult) {
    page.heading("By direction and kind");
    let settings = [
        Setting::ZLIB,
        Setting::ZLIB.with_window_bits(12).with_mem_level(5),
        Setting::ZLIB.with_window_bits(9).with_mem_level(1),
        Setting::ZLIB.with_takeover(false),
    ];
    let names = settings.map(|setting| setting.to_string());
    let mut headings = vec!["kind", "direction", "messages", "bytes"];
    headings.extend(names.iter().map(String::as_str));
    let rows: Vec<Vec<String>> = study
        .classes
        .iter()
        .map(|class| {
            let direction = match class.direction {
                Some(Direction::ToServer) => "to server",
                Some(Direction::ToClient) => "to client",
                None => "",
            };
            let mut row = vec![
                class.kind.clone(),
                direction.to_owned(),
                class.sizes.messages.to_string(),
                class.sizes.bytes.to_string(),
            ];
            row.extend(settings.map(|setting| format!("{:.3}", class.sizes.ratio(setting))));
            row
        })
        .collect();
    page.table(&headings, &rows);
}

fn windows_table(page: &mut Page, study: &StudyResult) {
    page.heading("Window by memLevel, level 6, takeover");
    let total = study.total(None);
    let rows = [8, 9, 10, 11, 12, 13, 14, 15].map(|window_bits: u8| {
        let mut row = vec![window_bits.to_string()];
        row.extend((1..=9).map(|mem_level| {
            let setting = Setting::ZLIB
                .with_window_bits(window_bits)
                .with_mem_level(mem_level);
            format!("{:.4}", total.ratio(setting))
        }));
        row
    });
    page.table(
        &["window", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
        &rows,
    );
    page.paragraph("Window 8: zlib deflates with 9, whose distances stay below 256.");
}

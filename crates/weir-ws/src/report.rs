//! A study as one HTML file: tables, and plots in SVG, without scripts or anything to load.

use std::fmt::Write as _;

use crate::advise::{Advice, bytes_text};
use crate::library::{Library, snippet};
use crate::setting::Setting;
use crate::study::StudyResult;
use crate::wire::Direction;

/// Writes the report. `title` is any text, such as the name of the transcript. A few hundred
/// kilobytes at most, whatever the input.
#[must_use]
pub fn html_report(title: &str, study: &StudyResult, advice: &Advice) -> String {
    let mut page = String::with_capacity(64 << 10);
    let title = escape(title);
    page.push_str("<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    put(
        &mut page,
        format_args!("<title>{title}: permessage-deflate</title>\n<style>{STYLE}</style>\n"),
    );
    put(
        &mut page,
        format_args!("<h1>permessage-deflate for {title}</h1>\n"),
    );
    let total = study.total(None);
    put(
        &mut page,
        format_args!(
            "<p>{} messages, {} before compression, {} windows.</p>\n",
            total.messages,
            bytes_text(total.bytes),
            study.contexts
        ),
    );
    put(
        &mut page,
        format_args!("<p class=\"advice\">{}</p>\n", escape(&advice.reason)),
    );
    if !advice.warnings.is_empty() {
        page.push_str("<ul>\n");
        for warning in &advice.warnings {
            put(&mut page, format_args!("<li>{}</li>\n", escape(warning)));
        }
        page.push_str("</ul>\n");
    }
    plots(&mut page, study, advice);
    tables(&mut page, study, advice);
    if let Some(chosen) = &advice.chosen {
        page.push_str("<h2>Configuration</h2>\n");
        for library in Library::ALL {
            let snippet = snippet(library, chosen.setting, 0);
            put(
                &mut page,
                format_args!(
                    "<h3>{}</h3>\n<pre>{}</pre>\n",
                    library.name(),
                    escape(&snippet.code)
                ),
            );
            for warning in &snippet.warnings {
                put(
                    &mut page,
                    format_args!("<p class=\"warning\">{}</p>\n", escape(warning)),
                );
            }
        }
    }
    page.push_str("</html>\n");
    page
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:auto;padding:1rem;\
color:#222;background:#fff}table{border-collapse:collapse;display:block;overflow-x:auto}\
td,th{padding:.2rem .6rem;text-align:right;border-bottom:1px solid #ddd}td:first-child,\
th:first-child{text-align:left}svg{width:100%;height:auto;max-width:40rem}pre{background:#f4f4f4;\
padding:.6rem;overflow-x:auto;font-size:.85rem}.advice{font-weight:600}.warning{color:#803000}\
@media print{body{max-width:none}pre,svg,tr{break-inside:avoid}}";

fn put(page: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String does not fail.
    let _ = page.write_fmt(text);
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other if other.is_control() && other != '\n' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

fn plots(page: &mut String, study: &StudyResult, advice: &Advice) {
    let point = |x: f64, y: f64, front: bool, chosen: bool| Point {
        x,
        y,
        front,
        chosen,
    };
    let is_chosen = |setting: Setting| {
        advice
            .chosen
            .is_some_and(|chosen| chosen.setting == setting)
    };
    let points = |x: &dyn Fn(&crate::Candidate) -> f64| -> Vec<Point> {
        advice
            .candidates
            .iter()
            .map(|c| point(x(c), c.ratio, c.on_front, is_chosen(c.setting)))
            .collect()
    };
    page.push_str("<h2>Ratio against memory a connection</h2>\n");
    scatter(
        page,
        &points(&|c| c.connection_bytes as f64 / 1024.0),
        "KiB a connection",
    );
    page.push_str("<h2>Ratio against CPU</h2>\n");
    scatter(page, &points(&|c| c.micros), "\u{b5}s a message");
    page.push_str("<p>Large dots: the Pareto front. Ring: the recommended setting.</p>\n");
    page.push_str("<h2>Sizes of messages</h2>\n");
    bars(page, &study.histogram());
}

struct Point {
    x: f64,
    y: f64,
    front: bool,
    chosen: bool,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 50.0;
const BOTTOM: f64 = 40.0;

fn scatter(page: &mut String, points: &[Point], x_name: &str) {
    let x_max = points.iter().map(|p| p.x).fold(1e-9, f64::max);
    let y_max = points.iter().map(|p| p.y).fold(1e-9, f64::max);
    let place = |p: &Point| {
        (
            LEFT + p.x / x_max * (WIDTH - LEFT - 15.0),
            HEIGHT - BOTTOM - p.y / y_max * (HEIGHT - BOTTOM - 15.0),
        )
    };
    put(
        page,
        format_args!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n"),
    );
    axes(page, x_name, "ratio");
    for n in 0..=4 {
        let share = f64::from(n) / 4.0;
        let (x, y) = place(&Point {
            x: x_max * share,
            y: y_max * share,
            front: false,
            chosen: false,
        });
        put(
            page,
            format_args!(
                "<text x=\"{x:.0}\" y=\"{:.0}\" font-size=\"11\" text-anchor=\"middle\">{:.3}</text>\
                 <text x=\"{:.0}\" y=\"{y:.0}\" font-size=\"11\" text-anchor=\"end\">{:.2}</text>\n",
                HEIGHT - BOTTOM + 14.0,
                x_max * share,
                LEFT - 4.0,
                y_max * share
            ),
        );
    }
    for p in points {
        let (x, y) = place(p);
        let (radius, colour) = if p.front { (4, "#0a58ca") } else { (1, "#999") };
        put(
            page,
            format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{colour}\"/>"),
        );
        if p.chosen {
            put(
                page,
                format_args!(
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"8\" fill=\"none\" stroke=\"#c00\" stroke-width=\"2\"/>"
                ),
            );
        }
    }
    page.push_str("</svg>\n");
}

fn axes(page: &mut String, x_name: &str, y_name: &str) {
    put(
        page,
        format_args!(
            "<path d=\"M{LEFT} 10V{0}H{1}\" fill=\"none\" stroke=\"#444\"/>\
             <text x=\"{2}\" y=\"{3}\" font-size=\"12\" text-anchor=\"middle\">{x_name}</text>\
             <text x=\"4\" y=\"12\" font-size=\"12\">{y_name}</text>\n",
            HEIGHT - BOTTOM,
            WIDTH - 10.0,
            (LEFT + WIDTH) / 2.0,
            HEIGHT - 6.0
        ),
    );
}

fn bars(page: &mut String, histogram: &[u64; 33]) {
    let last = histogram.iter().rposition(|&count| count > 0).unwrap_or(0);
    let most = histogram.iter().copied().max().unwrap_or(0).max(1) as f64;
    let step = (WIDTH - LEFT - 15.0) / (last + 1) as f64;
    put(
        page,
        format_args!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n"),
    );
    axes(page, "bytes, up to", "messages");
    for (n, &count) in histogram.iter().enumerate().take(last + 1) {
        let height = count as f64 / most * (HEIGHT - BOTTOM - 25.0);
        let x = LEFT + step * n as f64;
        put(
            page,
            format_args!(
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\" fill=\"#0a58ca\"/>\
                 <text x=\"{:.1}\" y=\"{:.0}\" font-size=\"9\" text-anchor=\"middle\">{}</text>\n",
                HEIGHT - BOTTOM - height,
                (step - 2.0).max(1.0),
                x + step / 2.0,
                HEIGHT - BOTTOM + 13.0,
                bytes_text(1 << n)
            ),
        );
    }
    page.push_str("</svg>\n");
}

fn tables(page: &mut String, study: &StudyResult, advice: &Advice) {
    page.push_str("<h2>The Pareto front</h2>\n<table><tr><th>setting<th>ratio<th>a connection<th>all connections<th>\u{b5}s a message<th>fits</tr>\n");
    for c in advice.front() {
        put(
            page,
            format_args!(
                "<tr><td>{}<td>{:.4}<td>{}<td>{}<td>{:.1}<td>{}</tr>\n",
                c.setting,
                c.ratio,
                bytes_text(c.connection_bytes),
                bytes_text(c.memory_bytes),
                c.micros,
                if c.fits { "yes" } else { "no" }
            ),
        );
    }
    page.push_str("</table>\n<h2>By direction and kind</h2>\n");
    let settings = [
        Setting::ZLIB,
        Setting {
            window_bits: 12,
            mem_level: 5,
            ..Setting::ZLIB
        },
        Setting {
            window_bits: 9,
            mem_level: 1,
            ..Setting::ZLIB
        },
        Setting {
            takeover: false,
            ..Setting::ZLIB
        },
    ];
    page.push_str("<table><tr><th>kind<th>direction<th>messages<th>bytes");
    for setting in settings {
        put(page, format_args!("<th>{setting}"));
    }
    page.push_str("</tr>\n");
    for class in &study.classes {
        let direction = match class.direction {
            Some(Direction::ToServer) => "to server",
            Some(Direction::ToClient) => "to client",
            None => "",
        };
        put(
            page,
            format_args!(
                "<tr><td>{}<td>{direction}<td>{}<td>{}",
                escape(&class.kind),
                class.sizes.messages,
                class.sizes.bytes
            ),
        );
        for setting in settings {
            put(page, format_args!("<td>{:.3}", class.sizes.ratio(setting)));
        }
        page.push_str("</tr>\n");
    }
    page.push_str(
        "</table>\n<h2>Window by memLevel, level 6, takeover</h2>\n<table><tr><th>window",
    );
    for mem_level in 1..=9 {
        put(page, format_args!("<th>{mem_level}"));
    }
    page.push_str("</tr>\n");
    let total = study.total(None);
    for window_bits in 8..=15 {
        put(page, format_args!("<tr><td>{window_bits}"));
        for mem_level in 1..=9 {
            let setting = Setting {
                window_bits,
                mem_level,
                ..Setting::ZLIB
            };
            put(page, format_args!("<td>{:.4}", total.ratio(setting)));
        }
        page.push_str("</tr>\n");
    }
    page.push_str(
        "</table>\n<p>Window 8: zlib deflates with 9, whose distances stay below 256.</p>\n",
    );
}

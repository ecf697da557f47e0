//! A page of HTML: text, tables, and plots in SVG, without scripts or anything to load.

use std::fmt::Write as _;

use crate::advise::bytes_text;

/// A report that grows from its head on; readable on a phone and in print. Texts that it is given are escaped.
#[derive(Debug)]
pub struct Page {
    html: String,
}

/// A point of [`Page::scatter`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Point {
    /// To the right, from 0.
    pub x: f64,
    /// Upwards, from 0.
    pub y: f64,
    /// Drawn large.
    pub large: bool,
    /// Drawn with a ring.
    pub ringed: bool,
}

impl Page {
    /// A page with a title, which the browser shows, and a heading.
    #[must_use]
    pub fn new(title: &str, heading: &str) -> Self {
        let mut page = Self {
            html: String::with_capacity(64 << 10),
        };
        page.raw("<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n");
        page.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        page.put(format_args!(
            "<title>{}</title>\n<style>{STYLE}</style>\n<h1>{}</h1>\n",
            escape(title),
            escape(heading)
        ));
        page
    }

    /// A heading within the page.
    pub fn heading(&mut self, text: &str) {
        self.put(format_args!("<h2>{}</h2>\n", escape(text)));
    }

    /// A paragraph.
    pub fn paragraph(&mut self, text: &str) {
        self.put(format_args!("<p>{}</p>\n", escape(text)));
    }

    /// A table: the first column to the left, the others to the right. Nothing where there are no rows.
    pub fn table<R: AsRef<[String]>>(&mut self, headings: &[&str], rows: &[R]) {
        if rows.is_empty() {
            return;
        }
        self.raw("<table><tr>");
        for heading in headings {
            self.put(format_args!("<th>{}", escape(heading)));
        }
        self.raw("</tr>\n");
        for row in rows {
            self.raw("<tr>");
            for cell in row.as_ref() {
                self.put(format_args!("<td>{}", escape(cell)));
            }
            self.raw("</tr>\n");
        }
        self.raw("</table>\n");
    }

    /// Points in a plane, whose axes begin at 0.
    pub fn scatter(&mut self, points: &[Point], x_name: &str, y_name: &str) {
        let x_max = points.iter().map(|p| p.x).fold(1e-9, f64::max);
        let y_max = points.iter().map(|p| p.y).fold(1e-9, f64::max);
        let place = |x: f64, y: f64| {
            (
                LEFT + x / x_max * (WIDTH - LEFT - 15.0),
                HEIGHT - BOTTOM - y / y_max * (HEIGHT - BOTTOM - 15.0),
            )
        };
        self.open_plot(x_name, y_name);
        for n in 0..=4 {
            let share = f64::from(n) / 4.0;
            let (x, y) = place(x_max * share, y_max * share);
            self.put(format_args!(
                "<text x=\"{x:.0}\" y=\"{:.0}\" font-size=\"11\" text-anchor=\"middle\">{:.3}</text>\
                 <text x=\"{:.0}\" y=\"{y:.0}\" font-size=\"11\" text-anchor=\"end\">{:.2}</text>\n",
                HEIGHT - BOTTOM + 14.0,
                x_max * share,
                LEFT - 4.0,
                y_max * share
            ));
        }
        for p in points {
            let (x, y) = place(p.x, p.y);
            let (radius, colour) = if p.large { (4, "#0a58ca") } else { (1, "#999") };
            self.put(format_args!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{colour}\"/>"
            ));
            if p.ringed {
                self.put(format_args!(
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"8\" fill=\"none\" stroke=\"#c00\" stroke-width=\"2\"/>"
                ));
            }
        }
        self.raw("</svg>\n");
    }

    /// How often something is up to 1, 2, 4, 8 and so on bytes.
    pub fn histogram(&mut self, counts: &[u64; 33], x_name: &str, y_name: &str) {
        let last = counts.iter().rposition(|&count| count > 0).unwrap_or(0);
        let first = counts.iter().position(|&count| count > 0).unwrap_or(0);
        let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
        let step = (WIDTH - LEFT - 15.0) / (last - first + 1) as f64;
        self.open_plot(x_name, y_name);
        for (n, &count) in counts.iter().enumerate().take(last + 1).skip(first) {
            let height = count as f64 / most * (HEIGHT - BOTTOM - 25.0);
            let x = LEFT + step * (n - first) as f64;
            self.put(format_args!(
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\" fill=\"#0a58ca\">\
                 <title>{count}</title></rect>\
                 <text x=\"{:.1}\" y=\"{:.0}\" font-size=\"9\" text-anchor=\"middle\">{}</text>\n",
                HEIGHT - BOTTOM - height,
                (step - 2.0).max(1.0),
                x + step / 2.0,
                HEIGHT - BOTTOM + 13.0,
                bytes_text(1 << n)
            ));
        }
        self.raw("</svg>\n");
    }

    fn open_plot(&mut self, x_name: &str, y_name: &str) {
        self.put(format_args!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n\
             <path d=\"M{LEFT} 10V{0}H{1}\" fill=\"none\" stroke=\"#444\"/>\
             <text x=\"{2}\" y=\"{3}\" font-size=\"12\" text-anchor=\"middle\">{4}</text>\
             <text x=\"4\" y=\"12\" font-size=\"12\">{5}</text>\n",
            HEIGHT - BOTTOM,
            WIDTH - 10.0,
            (LEFT + WIDTH) / 2.0,
            HEIGHT - 6.0,
            escape(x_name),
            escape(y_name)
        ));
    }

    /// Appends HTML as it is.
    pub(crate) fn raw(&mut self, html: &str) {
        self.html.push_str(html);
    }

    /// Appends HTML as it is.
    pub(crate) fn put(&mut self, html: std::fmt::Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = self.html.write_fmt(html);
    }

    /// The whole page.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.raw("</html>\n");
        self.html
    }
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:auto;padding:1rem;\
color:#222;background:#fff}table{border-collapse:collapse;display:block;overflow-x:auto}\
td,th{padding:.2rem .6rem;text-align:right;border-bottom:1px solid #ddd}td:first-child,\
th:first-child{text-align:left}svg{width:100%;height:auto;max-width:40rem}pre{background:#f4f4f4;\
padding:.6rem;overflow-x:auto;font-size:.85rem}.advice{font-weight:600}.warning{color:#803000}\
@media print{body{max-width:none}pre,svg,tr{break-inside:avoid}}";

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 50.0;
const BOTTOM: f64 = 40.0;

pub(crate) fn escape(text: &str) -> String {
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

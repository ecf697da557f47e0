//! A ladder as SVG, and as a page with it.

use std::fmt::Write;

use weir_page::{Escaped, Page};

use super::{Ladder, Rung};

impl Ladder {
    /// The ladder as an SVG image that needs no other file.
    #[must_use]
    pub fn svg(&self) -> String {
        let width = column_x(self.columns.len())
            .saturating_sub(COLUMN / 2)
            .max(COLUMN);
        let height = row_y(self.rungs.len()).saturating_add(ROW);
        let mut svg = String::new();
        // Writing to a String does not fail.
        let _ = write!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n\
             <rect class=\"back\" width=\"{width}\" height=\"{height}\"/>\n",
            Escaped(&self.title)
        );
        let bottom = height.saturating_sub(ROW / 2);
        for (column, name) in self.columns.iter().enumerate() {
            let x = column_x(column);
            let _ = writeln!(
                svg,
                "<line class=\"pillar\" x1=\"{x}\" y1=\"{HEAD}\" x2=\"{x}\" y2=\"{bottom}\"/>\
                 <text class=\"name\" x=\"{x}\" y=\"{}\">{}</text>",
                HEAD.saturating_sub(10),
                Escaped(name)
            );
        }
        let first = self.rungs.iter().find_map(|rung| rung.seconds);
        for (row, rung) in self.rungs.iter().enumerate() {
            self.rung(&mut svg, row, rung, first);
        }
        if self.dropped > 0 {
            let _ = writeln!(
                svg,
                "<text class=\"time\" x=\"8\" y=\"{bottom}\">{} more messages are not shown</text>",
                self.dropped
            );
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn rung(&self, svg: &mut String, row: usize, rung: &Rung, first: Option<f64>) {
        let y = row_y(row);
        let (from, to) = (column_x(rung.from), column_x(rung.to));
        let class = match (rung.is_media, rung.is_repeat) {
            (true, _) => "rung media",
            (false, true) => "rung repeat",
            (false, false) => "rung",
        };
        let time = match (rung.seconds, first) {
            (Some(at), Some(first)) => format!("{:.6}", at - first),
            _ => "-".to_owned(),
        };
        let _ = write!(
            svg,
            "<text class=\"time\" x=\"8\" y=\"{y}\">{time}</text><g class=\"{class}\">"
        );
        if from == to {
            let _ = write!(
                svg,
                "<circle cx=\"{from}\" cy=\"{y}\" r=\"3\"/><text x=\"{}\" y=\"{}\">",
                from.saturating_add(8),
                y.saturating_sub(4)
            );
        } else {
            let back = if from < to {
                to.saturating_sub(TIP)
            } else {
                to.saturating_add(TIP)
            };
            let _ = write!(
                svg,
                "<line x1=\"{from}\" y1=\"{y}\" x2=\"{to}\" y2=\"{y}\"/>\
                 <path d=\"M{to} {y}L{back} {}L{back} {}Z\"/>\
                 <text class=\"middle\" x=\"{}\" y=\"{}\">",
                y.saturating_sub(4),
                y.saturating_add(4),
                from.saturating_add(to) / 2,
                y.saturating_sub(5)
            );
        }
        let _ = writeln!(svg, "{}</text></g>", Escaped(&rung.label));
    }

    /// The ladder as an HTML page that needs no other file and runs no script.
    #[must_use]
    pub fn html(&self) -> String {
        let mut page = Page::with_style(&self.title, &self.title, PAGE_STYLE);
        page.put(format_args!("{}", self.svg()));
        page.finish()
    }
}

const fn column_x(column: usize) -> usize {
    LEFT.saturating_add(COLUMN.saturating_mul(column))
}

const fn row_y(row: usize) -> usize {
    HEAD.saturating_add(ROW.saturating_mul(row.saturating_add(1)))
}

/// Pixels.
const LEFT: usize = 200;
const COLUMN: usize = 260;
const HEAD: usize = 40;
const ROW: usize = 28;
const TIP: usize = 9;

/// A ladder of many parties is as wide as it is.
const PAGE_STYLE: &str = "body{max-width:none}svg{max-width:none}";

const STYLE: &str = ".back{fill:#fff}text{font:12px ui-monospace,monospace;fill:#222}\
.name{font-weight:bold;text-anchor:middle}.middle{text-anchor:middle}.time{fill:#666}\
.pillar{stroke:#bbb}.rung line{stroke:#1b5e9e;stroke-width:1.5}.rung path,.rung circle{fill:#1b5e9e}\
.repeat{opacity:.55}.repeat line{stroke-dasharray:4 3}.media line{stroke-width:6;stroke-opacity:.4}";

#[cfg(test)]
mod tests {
    #[test]
    fn everything_foreign_is_escaped() {
        let ladder = super::super::tests::sample();
        for page in [ladder.svg(), ladder.html()] {
            assert!(page.contains("Call-ID &lt;x&gt;"));
            assert!(page.contains("INVITE &lt;script&gt;"));
            assert!(page.contains("200 OK\\r\\nX: y"));
            assert!(!page.contains("<script"));
            assert_eq!(page.matches("<g class=\"rung\">").count(), 3);
            assert_eq!(page.matches("<g class=\"rung repeat\">").count(), 1);
            assert_eq!(page.matches("<g ").count(), page.matches("</g>").count());
        }
    }
}

//! A ladder as SVG, and as a page with it.

use std::fmt::Write;

use weir_page::{Escaped, Page};

use super::{Ladder, Rung, gap, instant, width};

impl Ladder {
    /// The ladder as an SVG image that needs no other file.
    #[must_use]
    pub fn svg(&self) -> String {
        self.image(false)
    }

    /// The image; in a page, its messages lead to their texts.
    fn image(&self, in_page: bool) -> String {
        let grid = Grid::of(self);
        let (image_width, height) = grid.size(self);
        let mut svg = String::new();
        // Writing to a String does not fail.
        let _ = write!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{image_width}\" height=\"{height}\" \
             viewBox=\"0 0 {image_width} {height}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n\
             <rect class=\"back\" width=\"{image_width}\" height=\"{height}\"/>\n",
            Escaped(&self.title)
        );
        let first = self.first_ns();
        if let Some(first) = first.filter(|_| !in_page) {
            let _ = writeln!(
                svg,
                "<text class=\"time\" x=\"8\" y=\"14\">{}</text>",
                instant(first)
            );
        }
        let bottom = height.saturating_sub(ROW / 2);
        for (column, name) in self.columns.iter().enumerate() {
            let x = grid.x(column);
            let _ = writeln!(
                svg,
                "<line class=\"pillar\" x1=\"{x}\" y1=\"{HEAD}\" x2=\"{x}\" y2=\"{bottom}\"/>\
                 <text class=\"name\" x=\"{x}\" y=\"{}\">{}</text>",
                HEAD.saturating_sub(10),
                Escaped(name)
            );
        }
        for (row, rung) in self.rungs.iter().enumerate() {
            let leads = in_page && rung.text.is_some();
            if leads {
                let _ = write!(svg, "<a href=\"#m{row}\">");
            }
            grid.rung(&mut svg, row, rung, first);
            svg.push_str(if leads { "</a>\n" } else { "\n" });
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

    /// The ladder as an HTML page that needs no other file and runs no script. A click on a message shows its text, where
    /// its step has one.
    #[must_use]
    pub fn html(&self) -> String {
        let mut page = Page::with_style(&self.title, &self.title, PAGE_STYLE);
        if let Some(first) = self.first_ns() {
            page.paragraph(&format!("Begins {}.", instant(first)));
        }
        page.put(format_args!("{}", self.image(true)));
        for (row, rung) in self.rungs.iter().enumerate() {
            let Some(text) = &rung.text else {
                continue;
            };
            page.put(format_args!(
                "<section id=\"m{row}\"><a href=\"#\">close</a>\n"
            ));
            page.subheading(&rung.label);
            page.paragraph(&time_and_frame(rung));
            page.lines(&legible(text));
            page.put(format_args!("</section>\n"));
        }
        page.finish()
    }
}

/// When and in which record a message came.
fn time_and_frame(rung: &Rung) -> String {
    let time = rung.time_ns.map(instant);
    let frame = rung.frame.map(|frame| format!("frame {frame}"));
    let parts: Vec<String> = [time, frame].into_iter().flatten().collect();
    parts.join(", ")
}

/// The text without characters that are not permitted in a page, or are invisible.
fn legible(text: &str) -> String {
    let kept = text.lines().map(|line| super::shown(line.as_bytes()));
    kept.collect::<Vec<_>>().join("\n")
}

/// An arrow of a message.
pub(super) struct Arrow {
    pub(super) from: usize,
    pub(super) to: usize,
    /// The beginning of the tip.
    pub(super) back: usize,
    /// The middle of its label.
    pub(super) label: (usize, usize),
}

/// The positions of pillars.
pub(super) struct Grid {
    left: usize,
    pitch: usize,
}

impl Grid {
    /// Wide enough for labels and names.
    pub(super) fn of(ladder: &Ladder) -> Self {
        let widest = |texts: &mut dyn Iterator<Item = &String>| {
            texts.map(|text| width(text)).max().unwrap_or(0)
        };
        let label = widest(&mut ladder.rungs.iter().map(|rung| &rung.label));
        let name = widest(&mut ladder.columns.iter());
        let chars = label.saturating_add(4).max(name.saturating_add(2));
        let pitch = chars
            .saturating_mul(CHAR_TENTHS)
            .checked_div(10)
            .unwrap_or_default();
        let pitch = pitch.clamp(COLUMN_MIN, COLUMN_MAX);
        Self {
            left: TIMES.saturating_add(pitch / 2),
            pitch,
        }
    }

    pub(super) const fn x(&self, column: usize) -> usize {
        self.left.saturating_add(self.pitch.saturating_mul(column))
    }

    /// Width and height of the image.
    pub(super) fn size(&self, ladder: &Ladder) -> (usize, usize) {
        let end = self.x(ladder.columns.len());
        let width = end.saturating_sub(self.pitch / 2).max(self.pitch);
        (width, row_y(ladder.rungs.len()).saturating_add(ROW))
    }

    /// The arrow of a message; `None` when it stays where it is.
    pub(super) fn arrow(&self, y: usize, rung: &Rung) -> Option<Arrow> {
        let (from, to) = (self.x(rung.from), self.x(rung.to));
        if from == to {
            return None;
        }
        let back = if from < to {
            to.saturating_sub(TIP)
        } else {
            to.saturating_add(TIP)
        };
        let (before, behind) = gap(rung);
        let middle = self.x(before).saturating_add(self.x(behind)) / 2;
        Some(Arrow {
            from,
            to,
            back,
            label: (middle, y.saturating_sub(5)),
        })
    }

    fn rung(&self, svg: &mut String, row: usize, rung: &Rung, first: Option<i64>) {
        let y = row_y(row);
        let class = match rung {
            Rung { is_media: true, .. } => "rung media",
            Rung {
                is_repeat: true,
                is_failure: true,
                ..
            } => "rung failure repeat",
            Rung {
                is_failure: true, ..
            } => "rung failure",
            Rung {
                is_repeat: true, ..
            } => "rung repeat",
            _ => "rung",
        };
        let frame = rung.frame.map_or_else(String::new, |frame| {
            format!("<text class=\"frame\" x=\"{FRAME_END}\" y=\"{y}\">#{frame}</text>")
        });
        let _ = write!(
            svg,
            "<text class=\"time\" x=\"8\" y=\"{y}\">{}</text>{frame}<g class=\"{class}\"><title>{}</title>",
            rung.since(first),
            Escaped(&time_and_frame(rung))
        );
        match self.arrow(y, rung) {
            None => {
                let from = self.x(rung.from);
                let _ = write!(
                    svg,
                    "<circle cx=\"{from}\" cy=\"{y}\" r=\"3\"/><text x=\"{}\" y=\"{}\">",
                    from.saturating_add(8),
                    y.saturating_sub(4)
                );
            }
            Some(Arrow {
                from,
                to,
                back,
                label: (x, above),
            }) => {
                let _ = write!(
                    svg,
                    "<line x1=\"{from}\" y1=\"{y}\" x2=\"{to}\" y2=\"{y}\"/>\
                     <path d=\"M{to} {y}L{back} {}L{back} {}Z\"/>\
                     <text class=\"middle\" x=\"{x}\" y=\"{above}\">",
                    y.saturating_sub(4),
                    y.saturating_add(4)
                );
            }
        }
        let _ = write!(svg, "{}</text></g>", Escaped(&rung.label));
    }
}

pub(super) const fn row_y(row: usize) -> usize {
    HEAD.saturating_add(ROW.saturating_mul(row.saturating_add(1)))
}

/// Pixels.
const TIMES: usize = 150;
pub(super) const FRAME_END: usize = 148;
const COLUMN_MIN: usize = 180;
const COLUMN_MAX: usize = 560;
pub(super) const HEAD: usize = 40;
pub(super) const ROW: usize = 28;
const TIP: usize = 9;
/// Tenths of a pixel that a character of the font takes.
const CHAR_TENTHS: usize = 74;

pub(super) const STYLE: &str = ".back{fill:#fff}text{font:12px ui-monospace,monospace;fill:#222}\
.name{font-weight:bold;text-anchor:middle}.middle{text-anchor:middle}.time{fill:#666}\
.pillar{stroke:#bbb}.rung line{stroke:#1b5e9e;stroke-width:1.5}.rung path,.rung circle{fill:#1b5e9e}\
.frame{fill:#666;text-anchor:end}.failure line{stroke:#b3261e}.failure path,.failure circle,.failure text{fill:#b3261e}\
.repeat{opacity:.55}.repeat line{stroke-dasharray:4 3}.media line{stroke-width:6;stroke-opacity:.4}";

/// A ladder of many parties has its own width. The text of a message is hidden until a link leads to it.
const PAGE_STYLE: &str = "body{max-width:none}svg{max-width:none}svg a:hover text{text-decoration:underline}\
section{display:none}section:target{display:block;position:fixed;right:1rem;top:1rem;max-width:48rem;max-height:90vh;\
overflow:auto;padding:.8rem 1rem;background:Canvas;color:CanvasText;border:1px solid #888;border-radius:6px}\
section>a{float:right}section pre{white-space:pre-wrap;overflow-wrap:anywhere}";

#[cfg(test)]
mod tests {
    use crate::{Ladder, Step};

    #[test]
    fn a_click_shows_the_text_of_a_message() {
        let mut ladder = Ladder::new("x");
        for (label, is_failure) in [("INVITE", false), ("486 Busy", true)] {
            ladder.push(Step {
                time_ns: Some(1_700_000_000_000_000_000),
                from: "a".into(),
                to: "b".into(),
                label: label.into(),
                is_failure,
                frame: Some(7),
                text: Some(format!("{label}\r\n\r\n</pre><script>\u{1b}[2J")),
                ..Step::default()
            });
        }
        let page = ladder.html();
        assert_eq!(page.matches("<a href=\"#m").count(), 2);
        for row in 0..2 {
            assert!(page.contains(&format!("<section id=\"m{row}\">")));
        }
        assert!(page.contains("&lt;/pre&gt;&lt;script&gt;\\u{1b}[2J"));
        assert!(page.contains("2023-11-14 22:13:20.000000 UTC, frame 7"));
        assert!(page.contains("class=\"rung failure\""));
        assert!(page.contains("#7</text>"));
        assert!(!ladder.svg().contains("href"));
    }

    #[test]
    fn labels_stand_between_two_neighbours() {
        let mut ladder = Ladder::new("x");
        for (from, to) in [("a", "b"), ("b", "c"), ("c", "a")] {
            ladder.push(Step {
                from: from.into(),
                to: to.into(),
                label: "a label".into(),
                ..Step::default()
            });
        }
        // Pillars are at 240, 420 and 600.
        let svg = ladder.svg();
        let at = |x: &str| svg.matches(&format!("class=\"middle\" x=\"{x}\"")).count();
        assert_eq!((at("330"), at("510"), at("420")), (1, 2, 0), "{svg}");
    }

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

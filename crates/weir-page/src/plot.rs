//! Plots in SVG.

use std::fmt::{Arguments, Write as _};

use crate::{Escaped, Page};

/// A point of [`Page::scatter`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Point {
    /// The horizontal position, from 0.
    pub x: f64,
    /// The vertical position, upwards from 0.
    pub y: f64,
    /// The point is drawn large.
    pub large: bool,
    /// The point is drawn with a ring.
    pub ringed: bool,
}

/// Horizontal bars in groups with a name: [`Page::bars`].
#[derive(Clone, Debug, Default)]
pub struct Bars<'b> {
    /// The description of the plot for screen readers.
    pub title: &'b str,
    /// The start of a logarithmic axis, for values that differ by factors: above 0. Other axes start at 0.
    pub logarithmic_from: Option<f64>,
    /// Digits behind the point of the values.
    pub decimals: usize,
    /// The groups: their names, and their bars from above.
    pub groups: Vec<(&'b str, Vec<Bar<'b>>)>,
}

/// A bar of [`Bars`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Bar<'b> {
    /// The value, from 0; NaN is drawn as 0.
    pub value: f64,
    /// The label after the value: empty for the bar that the plot is about.
    pub label: &'b str,
    /// The number of the colour: bars of one series in all groups have the same.
    pub series: usize,
}

impl Page {
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
                "<text x=\"{x:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{:.3}</text>\
                 <text x=\"{:.0}\" y=\"{y:.0}\" text-anchor=\"end\">{:.2}</text>\n",
                HEIGHT - BOTTOM + 14.0,
                x_max * share,
                LEFT - 4.0,
                y_max * share
            ));
        }
        for p in points {
            let (x, y) = place(p.x, p.y);
            let (radius, colour) = if p.large {
                (4, COLOURS[0])
            } else {
                (1, COLOURS[2])
            };
            self.put(format_args!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{colour}\"/>"
            ));
            if p.ringed {
                self.put(format_args!(
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"8\" fill=\"none\" stroke=\"#c00\" stroke-width=\"2\"/>"
                ));
            }
        }
        self.put(format_args!("</svg>\n"));
    }

    /// Columns beside each other: the name and the count of each class. Empty classes at both ends are left out.
    pub fn histogram(&mut self, counts: &[(String, u64)], x_name: &str, y_name: &str) {
        let is_there = |&(_, count): &(String, u64)| count > 0;
        let first = counts.iter().position(is_there).unwrap_or(0);
        let end = counts.iter().rposition(is_there).map_or(0, |last| last + 1);
        let counts = counts.get(first..end).unwrap_or_default();
        let most = counts.iter().map(|&(_, count)| count).max().unwrap_or(1) as f64;
        let step = (WIDTH - LEFT - 15.0) / counts.len().max(1) as f64;
        self.open_plot(x_name, y_name);
        for (n, (name, count)) in counts.iter().enumerate() {
            let height = *count as f64 / most * (HEIGHT - BOTTOM - 25.0);
            let x = LEFT + step * n as f64;
            self.put(format_args!(
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\" fill=\"{}\">\
                 <title>{count}</title></rect>\
                 <text x=\"{:.1}\" y=\"{:.0}\" style=\"font-size:9px\" text-anchor=\"middle\">{}</text>\n",
                HEIGHT - BOTTOM - height,
                (step - 2.0).max(1.0),
                COLOURS[0],
                x + step / 2.0,
                HEIGHT - BOTTOM + 13.0,
                Escaped(name)
            ));
        }
        self.put(format_args!("</svg>\n"));
    }

    /// Bars in groups, each with its value behind it.
    pub fn bars(&mut self, bars: &Bars<'_>) {
        self.put(format_args!("{}", bars.svg()));
    }

    fn open_plot(&mut self, x_name: &str, y_name: &str) {
        self.put(format_args!(
            "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{4}: {5}\">\n\
             <path d=\"M{LEFT} 10V{0}H{1}\" fill=\"none\" stroke=\"currentColor\"/>\
             <text x=\"{2}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\
             <text x=\"4\" y=\"12\">{5}</text>\n",
            HEIGHT - BOTTOM,
            WIDTH - 10.0,
            (LEFT + WIDTH) / 2.0,
            HEIGHT - 6.0,
            Escaped(x_name),
            Escaped(y_name)
        ));
    }
}

impl Bars<'_> {
    /// The plot by itself, of class `plot`: the colour and the size of its letters are the page's.
    #[must_use]
    pub fn svg(&self) -> String {
        let mut svg = String::new();
        // Writing to a String does not fail.
        let mut put = |html: Arguments<'_>| {
            let _ = svg.write_fmt(html);
        };
        let all = || self.groups.iter().flat_map(|(_, bars)| bars);
        let largest = all().map(|bar| bar.value).fold(1.0, f64::max);
        let rows: usize = self.groups.iter().map(|(_, bars)| bars.len() + 1).sum();
        put(format_args!(
            "<svg class=\"plot\" viewBox=\"0 0 {BARS_WIDTH} {}\" role=\"img\" aria-label=\"{}\">\n",
            rows as f64 * BAR + 10.0,
            Escaped(self.title)
        ));
        let left = self.left();
        let room = BARS_WIDTH - left - BARS_RIGHT;
        let mut y = 5.0;
        for (name, group) in &self.groups {
            put(format_args!(
                "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{}</text>\n",
                left - 8.0,
                y + BAR - 3.0,
                Escaped(name)
            ));
            for bar in group {
                let length = self.length(bar.value, largest, room);
                let colour = COLOURS.get(bar.series).unwrap_or(&"#999");
                put(format_args!(
                    "<rect x=\"{left:.0}\" y=\"{y:.0}\" width=\"{length:.1}\" height=\"{:.0}\" fill=\"{colour}\"/>\
                     <text x=\"{:.1}\" y=\"{:.0}\">{:.*} {}</text>\n",
                    BAR - 2.0,
                    left + length + 6.0,
                    y + BAR - 3.0,
                    self.decimals,
                    bar.value,
                    Escaped(bar.label)
                ));
                y += BAR;
            }
            y += BAR;
        }
        put(format_args!("</svg>\n"));
        svg
    }

    /// The length of a bar, at most `room` for the largest value.
    fn length(&self, value: f64, largest: f64, room: f64) -> f64 {
        let share = match self.logarithmic_from {
            Some(from) => {
                (value.max(from) / from).log10() / (largest.max(from * 10.0) / from).log10()
            }
            None => value / largest,
        };
        (share * room).max(1.0)
    }

    /// The room for names at the left, by the longest of them.
    fn left(&self) -> f64 {
        let letters = self.groups.iter().map(|(name, _)| name.chars().count());
        (letters.max().unwrap_or(0) as f64 * LETTER).clamp(60.0, 400.0)
    }
}

/// The colours are distinguishable for colour-blind readers, on white and on black.
const COLOURS: [&str; 3] = ["#1f77b4", "#d98c2b", "#999"];

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 50.0;
const BOTTOM: f64 = 40.0;

const BAR: f64 = 14.0;
const BARS_WIDTH: f64 = 860.0;
/// A letter of a name, on average.
const LETTER: f64 = 6.6;
/// The room for the value and the label of the longest bar.
const BARS_RIGHT: f64 = 200.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_given_is_drawn() {
        let mut page = Page::new("", "");
        let dot = Point {
            x: 2.0,
            y: 0.5,
            large: true,
            ringed: true,
        };
        page.scatter(&[Point::default(), dot], "<x>", "y");
        page.histogram(
            &[("a", 0), ("<b>", 7), ("c", 0), ("d", 1), ("e", 0)]
                .map(|(name, n)| (name.to_owned(), n)),
            "class",
            "count",
        );
        let bar = |value, series| Bar {
            value,
            label: "<l>",
            series,
        };
        page.bars(&Bars {
            title: "<t>",
            logarithmic_from: Some(10.0),
            decimals: 0,
            groups: vec![("<g>", vec![bar(1000.0, 0), bar(f64::NAN, 9)])],
        });
        let html = page.finish();
        assert_eq!(html.matches("<svg").count(), 3);
        assert_eq!(html.matches("</svg>").count(), 3);
        assert_eq!(html.matches("<circle").count(), 3, "two dots and a ring");
        assert_eq!(html.matches("<title>7</title>").count(), 1);
        assert!(
            !html.contains(">a</text>")
                && html.contains(">c</text>")
                && !html.contains(">e</text>")
        );
        assert!(html.contains("width=\"600.0\""), "the longest: {html}");
        for foreign in ["x", "b", "l", "g", "t"] {
            assert!(html.contains(&format!("&lt;{foreign}&gt;")), "{foreign}");
        }
        assert!(!html.contains("NaN\" "), "no length is no number: {html}");
    }

    #[test]
    fn no_figures_are_a_plot_too() {
        let mut page = Page::new("", "");
        page.scatter(&[], "x", "y");
        page.histogram(&[], "x", "y");
        page.bars(&Bars::default());
        assert_eq!(page.finish().matches("</svg>").count(), 3);
    }
}

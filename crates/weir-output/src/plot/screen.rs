//! Charts as characters.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::widgets::{Axis as Scale, Chart, Dataset, GraphType, Widget};

use super::super::{OutputOptions, text};
use super::axis::{Axis, short};
use super::shape::{Bars, Drawn, Heat, Histogram, Lines, Shape};

/// Draws a chart as wide as the terminal; its title above, what was left out below.
pub(super) fn draw(drawn: &Drawn, options: &OutputOptions) -> String {
    let columns = usize::from(options.width.unwrap_or(WIDTH)).clamp(WIDTH_MIN, WIDTH_MAX);
    let paint = Paint(options.colour);
    let mut out = drawn.title();
    out = text::fitted(&out, columns).into_owned();
    out.push('\n');
    match &drawn.shape {
        Shape::Lines(lines) => push_lines(&mut out, lines, columns, paint),
        Shape::Bars(bars) => push_bars(&mut out, bars, columns, paint),
        Shape::Histogram(histogram) => push_bars(&mut out, &as_bars(histogram), columns, paint),
        Shape::Heat(heat) => push_heat(&mut out, heat, columns, paint),
    }
    for note in &drawn.notes {
        out.push_str(note);
        out.push('\n');
    }
    out
}

fn push_lines(out: &mut String, lines: &Lines, columns: usize, paint: Paint) {
    let colour = |at: usize| {
        COLOURS
            .get(at % COLOURS.len())
            .copied()
            .unwrap_or(Color::Reset)
    };
    // Without colour, lines are distinguished by their markers.
    let marker = |at: usize| match paint.0 {
        true => Marker::Braille,
        false => MARKERS
            .get(at % MARKERS.len())
            .copied()
            .unwrap_or(Marker::Dot),
    };
    let sets = lines.series.iter().enumerate().map(|(at, (_, points))| {
        Dataset::default()
            .data(points)
            .graph_type(match points.len() {
                1 => GraphType::Scatter,
                _ => GraphType::Line,
            })
            .marker(marker(at))
            .style(Style::new().fg(colour(at)))
    });
    let scale = |axis: &Axis, labels: usize| {
        Scale::default()
            .bounds([axis.low, axis.high])
            .labels(axis.labels(labels))
    };
    let across = (columns / 24).clamp(2, 5);
    let chart = Chart::new(sets.collect())
        .x_axis(scale(&lines.x, across))
        .y_axis(scale(&lines.y, lines.y.steps(5)))
        .legend_position(None);
    let area = Rect::new(0, 0, u16::try_from(columns).unwrap_or(WIDTH), HEIGHT);
    let mut buffer = Buffer::empty(area);
    chart.render(area, &mut buffer);
    push_buffer(out, &buffer, paint);
    if lines.series.len() > 1 {
        for (at, (name, _)) in lines.series.iter().enumerate() {
            let sign = marker_sign(marker(at));
            paint.push(out, colour(at), sign);
            out.push(' ');
            out.push_str(&text::fitted(name, columns.saturating_sub(3)));
            out.push('\n');
        }
    }
}

/// A histogram lies on its side, with the smallest values on top.
fn as_bars(histogram: &Histogram) -> Bars {
    let slots = &histogram.slots;
    let bar = |(at, &count): (usize, &u64)| {
        let from = slots.first + slots.width * at as f64;
        let name = format!("{} to {}", short(from), short(from + slots.width));
        (name, count as f64)
    };
    Bars {
        names: histogram.amount.clone(),
        amount: "rows".to_owned(),
        bars: slots.counts.iter().enumerate().map(bar).collect(),
    }
}

fn push_bars(out: &mut String, bars: &Bars, columns: usize, paint: Paint) {
    let names = bars.bars.iter().map(|(name, _)| text::width(name));
    let name_width = names.max().unwrap_or(0).min(columns * 2 / 5);
    let values: Vec<String> = bars.bars.iter().map(|&(_, value)| exact(value)).collect();
    let value_width = values.iter().map(String::len).max().unwrap_or(0);
    let room = columns.saturating_sub(name_width + value_width + 3);
    let sizes = bars.bars.iter().map(|&(_, value)| value.abs());
    let largest = sizes.fold(0.0, f64::max);
    for ((name, value), written) in bars.bars.iter().zip(&values) {
        let name = text::fitted(name, name_width);
        out.push_str(&name);
        out.push_str(&" ".repeat(name_width.saturating_sub(text::width(&name)) + 1));
        let share = if largest > 0.0 {
            value.abs() / largest
        } else {
            0.0
        };
        let eighths = (share * (room * 8) as f64).round() as usize;
        let mut bar = "█".repeat(eighths / 8);
        bar.extend((eighths % 8).checked_sub(1).and_then(|at| EIGHTHS.get(at)));
        paint.push(out, COLOURS[0], &bar);
        if !bar.is_empty() {
            out.push(' ');
        }
        out.push_str(written);
        out.push('\n');
    }
}

fn push_heat(out: &mut String, heat: &Heat, columns: usize, paint: Paint) {
    let names = heat.levels.iter().map(|name| text::width(name));
    let name_width = names.max().unwrap_or(0).min(columns * 2 / 5);
    let room = columns.saturating_sub(name_width + 1).max(1);
    let steps = heat.cells.first().map_or(1, Vec::len).max(1);
    // Cells are as wide as there is room; where there are too many, adjacent ones are added up.
    let together = steps.div_ceil(room);
    let drawn = steps.div_ceil(together);
    let wide = (room / drawn).max(1);
    let rows: Vec<Vec<f64>> = heat
        .cells
        .iter()
        .map(|row| {
            row.chunks(together)
                .map(|cells| cells.iter().sum())
                .collect()
        })
        .collect();
    let largest = rows
        .iter()
        .flatten()
        .fold(0.0, |most: f64, cell| most.max(cell.abs()));
    for (name, row) in heat.levels.iter().zip(&rows) {
        let name = text::fitted(name, name_width);
        let mut line = name.clone().into_owned();
        line.push_str(&" ".repeat(name_width.saturating_sub(text::width(&name)) + 1));
        let cells = row.iter().flat_map(|cell| {
            let shade = shade(*cell, largest);
            let sign = SHADES.get(shade).copied().unwrap_or(" ");
            std::iter::repeat_n((colour_of(shade), sign), wide)
        });
        paint.push_cells(&mut line, cells);
        out.push_str(line.trim_end());
        out.push('\n');
    }
    let ends = heat.x.labels(2);
    if let [begin, end] = ends.as_slice() {
        let width = drawn * wide;
        let gap = width
            .saturating_sub(text::width(begin) + text::width(end))
            .max(1);
        let indent = " ".repeat(name_width + 1);
        out.push_str(&format!("{indent}{begin}{}{end}\n", " ".repeat(gap)));
    }
    let scale: Vec<String> = (1..SHADES.len())
        .map(|shade| {
            let to = (shade as f64 / (SHADES.len() - 1) as f64).powi(2) * largest;
            format!(
                "{} to {}",
                SHADES.get(shade).copied().unwrap_or_default(),
                short(to)
            )
        })
        .collect();
    out.push_str(&format!("{}: {}\n", heat.amount, scale.join("  ")));
}

/// The shade of a cell: on the scale of a square root, on which small amounts are easier to distinguish.
fn shade(cell: f64, largest: f64) -> usize {
    let share = match largest > 0.0 {
        true => (cell.abs() / largest).sqrt(),
        false => 0.0,
    };
    let shades = SHADES.len() - 1;
    ((share * shades as f64).ceil() as usize).min(shades)
}

fn colour_of(shade: usize) -> Color {
    HEAT.get(shade).copied().unwrap_or(Color::Reset)
}

fn push_buffer(out: &mut String, buffer: &Buffer, paint: Paint) {
    for y in 0..buffer.area.height {
        let mut line = String::new();
        let cells = (0..buffer.area.width).map(|x| {
            let cell = &buffer[(x, y)];
            (cell.fg, cell.symbol())
        });
        paint.push_cells(&mut line, cells);
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// The writer of coloured text; false where the text has no colours.
#[derive(Clone, Copy)]
struct Paint(bool);

impl Paint {
    fn push(self, out: &mut String, colour: Color, what: &str) {
        match colour {
            Color::Indexed(number) if self.0 && !what.trim().is_empty() => {
                out.push_str(&format!("\x1b[38;5;{number}m{what}\x1b[0m"));
            }
            _ => out.push_str(what),
        }
    }

    /// Appends cells, those of one colour that follow each other as one text.
    fn push_cells<'t>(self, out: &mut String, cells: impl Iterator<Item = (Color, &'t str)>) {
        let mut run = (Color::Reset, String::new());
        for (colour, sign) in cells {
            if colour != run.0 {
                self.push(out, run.0, &run.1);
                run = (colour, String::new());
            }
            run.1.push_str(sign);
        }
        self.push(out, run.0, &run.1);
    }
}

/// An amount with all the digits that people read.
fn exact(value: f64) -> String {
    let is_whole = value.fract() == 0.0 && value.abs() < 1e15;
    match is_whole {
        true if value < 0.0 => format!("-{}", super::super::grouped(value.abs() as u64)),
        true => super::super::grouped(value as u64),
        false => short(value),
    }
}

fn marker_sign(marker: Marker) -> &'static str {
    match marker {
        Marker::Dot => "•",
        Marker::Block => "█",
        Marker::HalfBlock => "▀",
        Marker::Bar => "▄",
        _ => "⣿",
    }
}

/// Characters from left to right where neither the terminal nor COLUMNS says how many there are.
const WIDTH: u16 = 80;
const WIDTH_MIN: usize = 20;
const WIDTH_MAX: usize = 300;
/// Lines of a chart from top to bottom.
const HEIGHT: u16 = 18;
/// The colours of lines, which are distinguishable on dark and on light.
const COLOURS: [Color; 8] = [
    Color::Indexed(33),
    Color::Indexed(208),
    Color::Indexed(35),
    Color::Indexed(161),
    Color::Indexed(99),
    Color::Indexed(136),
    Color::Indexed(38),
    Color::Indexed(244),
];
const MARKERS: [Marker; 5] = [
    Marker::Braille,
    Marker::Dot,
    Marker::Block,
    Marker::Bar,
    Marker::HalfBlock,
];
const EIGHTHS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];
/// The shades from nothing to the maximum.
const SHADES: [&str; 6] = [" ", "·", "░", "▒", "▓", "█"];
/// The colours of the shades.
const HEAT: [Color; 6] = [
    Color::Reset,
    Color::Indexed(24),
    Color::Indexed(31),
    Color::Indexed(37),
    Color::Indexed(178),
    Color::Indexed(202),
];

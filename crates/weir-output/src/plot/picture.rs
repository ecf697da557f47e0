//! Charts as pictures: SVG, and PNG of the same.

use std::ops::Range;

use plotters::chart::ChartContext;
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::{
    ChartBuilder, Circle, Color, DrawingArea, DrawingBackend, IntoDrawingArea, IntoFont,
    PathElement, RGBColor, Rectangle, SVGBackend, Text, WHITE,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontDesc, TextStyle};

use super::super::{Error, text};
use super::axis::{Axis, short};
use super::shape::{Drawn, Heat, Histogram, Lines, Shape};
use crate::picture::{Picture, Surface};

/// Draws a chart as one self-contained SVG picture.
pub(super) fn svg(drawn: &Drawn) -> Result<String, Error> {
    let mut out = String::new();
    draw(drawn, SVGBackend::with_string(&mut out, size(drawn)))?;
    Ok(out)
}

/// Draws the same chart with points.
pub(super) fn png(drawn: &Drawn) -> Result<Picture, Error> {
    let (width, height) = size(drawn);
    let Some(mut surface) = Surface::new(width, height) else {
        let message = format!("{width} by {height} pixels are more than the limit of a picture");
        return Err(Error::unplotted(message));
    };
    draw(drawn, surface.backend())?;
    surface.finish().map_err(Error::unplotted)
}

/// Points from left to right and from top to bottom.
fn size(drawn: &Drawn) -> (u32, u32) {
    let rows = match &drawn.shape {
        Shape::Lines(_) | Shape::Histogram(_) => None,
        Shape::Bars(bars) => Some(bars.bars.len()),
        Shape::Heat(heat) => Some(heat.levels.len()),
    };
    let height = rows.map_or(SIZE.1, |rows| {
        let height = u32::try_from(rows).unwrap_or(u32::MAX).saturating_mul(20);
        height.saturating_add(110).clamp(160, 1_600)
    });
    (SIZE.0, height.saturating_add(foot(drawn)))
}

/// Points below the chart for what was left out.
fn foot(drawn: &Drawn) -> u32 {
    match drawn.notes.is_empty() {
        true => 0,
        false => 20,
    }
}

fn draw<DB>(drawn: &Drawn, backend: DB) -> Result<(), Error>
where
    DB: DrawingBackend,
    DB::ErrorType: 'static,
{
    let whole = backend.into_drawing_area();
    whole.fill(&WHITE).map_err(Error::unplotted)?;
    let (_, height) = size(drawn);
    let (area, below) = whole.split_vertically(height.saturating_sub(foot(drawn)));
    let title = drawn.title();
    match &drawn.shape {
        Shape::Lines(lines) => draw_lines(lines, &title, &area)?,
        Shape::Bars(bars) => {
            let values = bars.bars.iter().map(|&(_, value)| value);
            let x = Axis::of_amounts(bars.amount.clone(), values, true).rounded(8);
            let names: Vec<String> = bars.bars.iter().map(|(name, _)| name.clone()).collect();
            let cells = bars.bars.iter().enumerate().map(|(row, &(_, value))| Cell {
                across: (value.min(0.0), value.max(0.0)),
                row,
                shade: 0.0,
            });
            let rows = NamedRows::new(bars.names.clone(), names, 0.15);
            draw_cells(&x, &rows, cells, &title, &area)?;
        }
        Shape::Histogram(histogram) => draw_histogram(histogram, &title, &area)?,
        Shape::Heat(heat) => draw_heat(heat, &title, &area)?,
    }
    if !drawn.notes.is_empty() {
        let notes = fitted(&drawn.notes.join("; "), NOTES_MAX);
        let style = TextStyle::from(font(LABEL_SIZE)).pos(Pos::new(HPos::Left, VPos::Center));
        let place = (i32::try_from(MARGIN).unwrap_or(0), 4);
        below
            .draw(&Text::new(notes, place, style))
            .map_err(Error::unplotted)?;
    }
    whole.present().map_err(Error::unplotted)
}

/// The frame of a chart: its title, its axes with their labels, and grid lines.
struct ChartFrame<'a, X, Y> {
    title: &'a str,
    x: X,
    x_title: &'a str,
    y: Y,
    y_title: &'a str,
    /// Labels of the upright axis, and lines at them.
    y_labels: usize,
    has_y_lines: bool,
    /// Points that are left free beside the chart.
    left: u32,
    right: u32,
}

type Chart<'a, DB, X, Y> = ChartContext<'a, DB, Cartesian2d<X, Y>>;

impl<'a, Y> ChartFrame<'a, Along<'a>, Y> {
    /// A frame around amounts, or around rows with names.
    fn new(title: &'a str, x: &'a Axis, y: Y, y_title: &'a str) -> Self {
        let ticks = x.ticks(X_LABELS);
        let labels = ticks.iter().map(|(_, label)| text::width(label));
        Self {
            title,
            x: Along(x),
            x_title: &x.title,
            y,
            y_title,
            y_labels: 6,
            has_y_lines: true,
            left: 66,
            // Half of the last label along the bottom may stand out.
            right: MARGIN.max(points(labels.max().unwrap_or(0)) / 2),
        }
    }
}

impl<X, Y> ChartFrame<'_, X, Y>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    /// Draws it, and gives what lies within.
    fn draw<'d, DB>(self, area: &DrawingArea<DB, Shift>) -> Result<Chart<'d, DB, X, Y>, Error>
    where
        DB: DrawingBackend,
        DB::ErrorType: 'static,
    {
        let mut chart = ChartBuilder::on(area)
            .caption(fitted(self.title, TITLE_MAX), font(TITLE_SIZE))
            .margin(MARGIN)
            .margin_right(self.right)
            .x_label_area_size(46)
            .y_label_area_size(self.left)
            .build_cartesian_2d(self.x, self.y)
            .map_err(Error::unplotted)?;
        let mut mesh = chart.configure_mesh();
        mesh.x_desc(fitted(self.x_title, TITLE_MAX))
            .y_desc(fitted(self.y_title, 40))
            .x_labels(X_LABELS)
            .y_labels(self.y_labels)
            .bold_line_style(GRID)
            .light_line_style(WHITE)
            .label_style(font(LABEL_SIZE))
            .axis_desc_style(font(NAME_SIZE));
        if !self.has_y_lines {
            mesh.disable_y_mesh();
        }
        mesh.draw().map_err(Error::unplotted)?;
        Ok(chart)
    }
}

fn draw_lines<DB>(lines: &Lines, title: &str, area: &DrawingArea<DB, Shift>) -> Result<(), Error>
where
    DB: DrawingBackend,
    DB::ErrorType: 'static,
{
    let names = lines.series.iter().map(|(name, _)| fitted(name, NAME_MAX));
    let names: Vec<String> = names.filter(|_| lines.series.len() > 1).collect();
    let longest = names.iter().map(|name| text::width(name)).max();
    let mut frame = ChartFrame::new(title, &lines.x, Along(&lines.y), &lines.y.title);
    if let Some(longest) = longest {
        frame.right = frame.right.max(points(longest) + KEY_WIDTH + 2 * MARGIN);
    }
    let beside = i64::from(SIZE.0) - i64::from(frame.right);
    let mut chart = frame.draw(area)?;
    for (at, (_, points)) in lines.series.iter().enumerate() {
        let line = PathElement::new(points.clone(), colour(at).stroke_width(2));
        chart
            .draw_series(std::iter::once(line))
            .map_err(Error::unplotted)?;
        if points.len() <= DOTS_MAX {
            let dots = points.iter();
            let dots = dots.map(|&place| Circle::new(place, 3, colour(at).filled()));
            chart.draw_series(dots).map_err(Error::unplotted)?;
        }
    }
    // The names stand beside the chart, where they hide no line.
    let x = i32::try_from(beside).unwrap_or(0) + 10;
    for (at, (name, y)) in names.into_iter().zip((60..).step_by(19)).enumerate() {
        let key = [(x, y), (x + 16, y)];
        area.draw(&PathElement::new(key, colour(at).stroke_width(3)))
            .map_err(Error::unplotted)?;
        let style = TextStyle::from(font(NAME_SIZE)).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(name, (x + 22, y), style))
            .map_err(Error::unplotted)?;
    }
    Ok(())
}

fn draw_histogram<DB>(
    histogram: &Histogram,
    title: &str,
    area: &DrawingArea<DB, Shift>,
) -> Result<(), Error>
where
    DB: DrawingBackend,
    DB::ErrorType: 'static,
{
    let slots = &histogram.slots;
    let end = slots.first + slots.width * slots.counts.len() as f64;
    let ends = [slots.first, end].into_iter();
    let x = Axis::of_amounts(histogram.amount.clone(), ends, false);
    let counts = slots.counts.iter().map(|&count| count as f64);
    let y = Axis::of_amounts("rows".to_owned(), counts.clone(), true).rounded(6);
    let mut chart = ChartFrame::new(title, &x, Along(&y), &y.title).draw(area)?;
    let boxes = counts.enumerate().map(|(at, count)| {
        let edge = |at: usize| slots.first + slots.width * at as f64;
        let corners = [(edge(at), 0.0), (edge(at + 1), count)];
        let mut drawn = Rectangle::new(corners, COLOURS[0].filled());
        drawn.set_margin(0, 0, 0, 1);
        drawn
    });
    chart.draw_series(boxes).map_err(Error::unplotted)?;
    Ok(())
}

fn draw_heat<DB>(heat: &Heat, title: &str, area: &DrawingArea<DB, Shift>) -> Result<(), Error>
where
    DB: DrawingBackend,
    DB::ErrorType: 'static,
{
    let steps = heat.cells.first().map_or(1, Vec::len).max(1);
    let width = (heat.x.high - heat.x.low) / steps as f64;
    let largest = heat
        .cells
        .iter()
        .flatten()
        .fold(0.0, |most: f64, cell| most.max(cell.abs()));
    let mut cells = Vec::new();
    for (row, values) in heat.cells.iter().enumerate() {
        for (step, value) in values
            .iter()
            .enumerate()
            .filter(|(_, value)| **value != 0.0)
        {
            // A cell ends at the same number at which the next begins, so that no gap is visible.
            let edge = |step: usize| heat.x.low + width * step as f64;
            cells.push(Cell {
                across: (edge(step), edge(step + 1)),
                row,
                // The eye tells apart small amounts better when the scale is that of a root.
                shade: (value.abs() / largest).sqrt(),
            });
        }
    }
    let rows = NamedRows::new(heat.level.clone(), heat.levels.clone(), 0.0);
    let title = format!("{title} (up to {})", short(largest));
    draw_cells(&heat.x, &rows, cells.into_iter(), &title, area)
}

/// A piece of a row.
struct Cell {
    across: (f64, f64),
    row: usize,
    /// The shade, from 0 to 1.
    shade: f64,
}

/// Pieces of rows with names.
fn draw_cells<DB>(
    x: &Axis,
    rows: &NamedRows,
    cells: impl Iterator<Item = Cell>,
    title: &str,
    area: &DrawingArea<DB, Shift>,
) -> Result<(), Error>
where
    DB: DrawingBackend,
    DB::ErrorType: 'static,
{
    let longest = rows.names.iter().map(|name| text::width(name)).max();
    let frame = ChartFrame {
        y_labels: rows.names.len(),
        has_y_lines: false,
        left: points(longest.unwrap_or(0)) + 40,
        ..ChartFrame::new(title, x, rows.clone(), &rows.title)
    };
    let mut chart = frame.draw(area)?;
    let cells = cells.map(|cell| {
        let (top, foot) = rows.span(cell.row);
        let corners = [(cell.across.0, top), (cell.across.1, foot)];
        Rectangle::new(corners, shade(cell.shade).filled())
    });
    chart.draw_series(cells).map_err(Error::unplotted)?;
    Ok(())
}

/// The colour of a line by its place.
fn colour(at: usize) -> RGBColor {
    COLOURS.get(at % COLOURS.len()).copied().unwrap_or(GRID)
}

/// The one font of charts. Plotters counts a size as the height of a line, 1.24 times that of the letters.
fn font(size: i32) -> FontDesc<'static> {
    ("sans-serif", size).into_font()
}

/// The maximum width of a name of so many characters, in points.
fn points(characters: usize) -> u32 {
    u32::try_from(characters.min(NAME_MAX))
        .unwrap_or(0)
        .saturating_mul(7)
}

/// The colour of a share: from the first colour of all charts at 0 to dark red at 1; a heat map's cells begin a little above 0.
fn shade(share: f64) -> RGBColor {
    let from = COLOURS[0];
    let mixed = |from: u8, to: u8| {
        let (from, to) = (f64::from(from), f64::from(to));
        (from + (to - from) * share.clamp(0.0, 1.0)) as u8
    };
    RGBColor(mixed(from.0, 190), mixed(from.1, 30), mixed(from.2, 30))
}

fn fitted(name: &str, cells: usize) -> String {
    text::fitted(name, cells).into_owned()
}

/// An axis of a picture.
struct Along<'a>(&'a Axis);

impl Ranged for Along<'_> {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let length = f64::from(limit.1) - f64::from(limit.0);
        (f64::from(limit.0) + length * self.0.share(*value)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let ticks = self.0.ticks(hint.max_num_points().clamp(2, 12));
        ticks.into_iter().map(|(value, _)| value).collect()
    }

    fn range(&self) -> Range<f64> {
        self.0.low..self.0.high
    }
}

impl ValueFormatter<f64> for Along<'_> {
    fn format(value: &f64) -> String {
        short(*value)
    }

    fn format_ext(&self, value: &f64) -> String {
        self.0.label_of(*value)
    }
}

/// Rows with names, the first on top.
#[derive(Clone)]
struct NamedRows {
    title: String,
    names: Vec<String>,
    /// The free part above and below each row, of 1.
    margin: f64,
}

impl NamedRows {
    fn new(title: String, names: Vec<String>, margin: f64) -> Self {
        let names = names.iter().map(|name| fitted(name, NAME_MAX)).collect();
        Self {
            title,
            names,
            margin,
        }
    }

    /// The range of a row.
    fn span(&self, row: usize) -> (f64, f64) {
        (row as f64 + self.margin, row as f64 + 1.0 - self.margin)
    }
}

impl Ranged for NamedRows {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        // The limits of an upright axis go from its foot to its top.
        let length = f64::from(limit.0) - f64::from(limit.1);
        let share = value / self.names.len().max(1) as f64;
        (f64::from(limit.1) + length * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        (0..self.names.len()).map(|row| row as f64 + 0.5).collect()
    }

    fn range(&self) -> Range<f64> {
        0.0..self.names.len() as f64
    }
}

impl ValueFormatter<f64> for NamedRows {
    fn format(value: &f64) -> String {
        short(*value)
    }

    fn format_ext(&self, value: &f64) -> String {
        self.names
            .get(value.floor() as usize)
            .cloned()
            .unwrap_or_default()
    }
}

/// Points from left to right and from top to bottom, where there are no rows with names.
const SIZE: (u32, u32) = (860, 440);
/// Points around a chart.
const MARGIN: u32 = 14;
/// Points of the piece of a line before its name, with the room around it.
const KEY_WIDTH: u32 = 24;
/// Sizes of letters.
const TITLE_SIZE: i32 = 16;
const NAME_SIZE: i32 = 13;
const LABEL_SIZE: i32 = 12;
/// Characters of a title and of what stands below the chart, as many as there is room for.
const TITLE_MAX: usize = 104;
const NOTES_MAX: usize = 140;
/// Labels along the bottom, about.
const X_LABELS: usize = 8;
/// Points of a line that have a dot each.
const DOTS_MAX: usize = 40;
/// Characters of a name.
const NAME_MAX: usize = 36;
const GRID: RGBColor = RGBColor(205, 210, 215);
/// Colours that colour-blind readers tell apart, too (Okabe and Ito 2008), without those that are too light.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(120, 94, 240),
    RGBColor(140, 86, 75),
    RGBColor(90, 90, 90),
];

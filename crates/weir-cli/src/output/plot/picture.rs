//! Charts as SVG.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::{
    ChartBuilder, Color, IntoDrawingArea, IntoFont, PathElement, RGBColor, Rectangle, SVGBackend,
    SeriesLabelPosition, WHITE,
};

use super::super::{Error, text};
use super::axis::{Axis, short};
use super::shape::{Drawn, Heat, Lines, Shape};

/// Draws a chart as one SVG picture that loads nothing.
pub(super) fn svg(drawn: &Drawn) -> Result<String, Error> {
    match &drawn.shape {
        Shape::Lines(lines) => lines_svg(lines, &headed(drawn)),
        Shape::Bars(bars) => {
            let values = bars.bars.iter().map(|&(_, value)| value);
            let x = Axis::of_amounts(bars.amount.clone(), values, true).rounded(8);
            let names: Vec<String> = bars.bars.iter().map(|(name, _)| name.clone()).collect();
            let cells = bars.bars.iter().enumerate().map(|(row, &(_, value))| Cell {
                across: (value.min(0.0), value.max(0.0)),
                row,
                shade: 0.0,
            });
            let rows = Rows::new(bars.names.clone(), names, 0.15);
            cells_svg(&x, &rows, cells.collect(), &headed(drawn))
        }
        Shape::Histogram(histogram) => {
            let slots = &histogram.slots;
            let end = slots.first + slots.width * slots.counts.len() as f64;
            let ends = [slots.first, end].into_iter();
            let x = Axis::of_amounts(histogram.amount.clone(), ends, false);
            let counts = slots.counts.iter().map(|&count| count as f64);
            let y = Axis::of_amounts("rows".to_owned(), counts.clone(), true).rounded(6);
            let boxes = counts.enumerate().map(|(at, count)| {
                let from = slots.first + slots.width * at as f64;
                [(from, 0.0), (from + slots.width, count)]
            });
            boxes_svg(&x, &y, boxes.collect(), &headed(drawn))
        }
        Shape::Heat(heat) => heat_svg(heat, &headed(drawn)),
    }
}

/// The title, with what was left out.
fn headed(drawn: &Drawn) -> String {
    let mut title = drawn.title();
    for note in &drawn.notes {
        title = format!("{title}; {note}");
    }
    title
}

fn lines_svg(lines: &Lines, title: &str) -> Result<String, Error> {
    let mut out = String::new();
    {
        let area = SVGBackend::with_string(&mut out, SIZE).into_drawing_area();
        area.fill(&WHITE).map_err(Error::unplotted)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(fitted(title, 110), ("sans-serif", 16))
            .margin(14)
            .x_label_area_size(46)
            .y_label_area_size(66)
            .build_cartesian_2d(Along(&lines.x), Along(&lines.y))
            .map_err(Error::unplotted)?;
        chart
            .configure_mesh()
            .x_desc(&lines.x.title)
            .y_desc(fitted(&lines.y.title, 40))
            .x_labels(8)
            .y_labels(6)
            .bold_line_style(GRID)
            .light_line_style(WHITE)
            .draw()
            .map_err(Error::unplotted)?;
        let has_names = lines.series.len() > 1;
        for (at, (name, points)) in lines.series.iter().enumerate() {
            let colour = COLOURS.get(at % COLOURS.len()).copied().unwrap_or(GRID);
            let line = PathElement::new(points.clone(), colour.stroke_width(2));
            let drawn = chart
                .draw_series(std::iter::once(line))
                .map_err(Error::unplotted)?;
            if has_names {
                drawn.label(fitted(name, 40)).legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(3))
                });
            }
            if points.len() <= DOTS_MAX {
                let dots = points
                    .iter()
                    .map(|&at| plotters::prelude::Circle::new(at, 3, colour.filled()));
                chart.draw_series(dots).map_err(Error::unplotted)?;
            }
        }
        if has_names {
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::UpperRight)
                .background_style(WHITE.mix(0.85))
                .border_style(GRID)
                .label_font(("sans-serif", 13))
                .draw()
                .map_err(Error::unplotted)?;
        }
        area.present().map_err(Error::unplotted)?;
    }
    Ok(out)
}

fn boxes_svg(
    x: &Axis,
    y: &Axis,
    boxes: Vec<[(f64, f64); 2]>,
    title: &str,
) -> Result<String, Error> {
    let mut out = String::new();
    {
        let area = SVGBackend::with_string(&mut out, SIZE).into_drawing_area();
        area.fill(&WHITE).map_err(Error::unplotted)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(fitted(title, 110), ("sans-serif", 16))
            .margin(14)
            .x_label_area_size(46)
            .y_label_area_size(66)
            .build_cartesian_2d(Along(x), Along(y))
            .map_err(Error::unplotted)?;
        chart
            .configure_mesh()
            .x_desc(&x.title)
            .y_desc(&y.title)
            .x_labels(8)
            .y_labels(6)
            .bold_line_style(GRID)
            .light_line_style(WHITE)
            .draw()
            .map_err(Error::unplotted)?;
        let boxes = boxes.into_iter().map(|corners| {
            let mut drawn = Rectangle::new(corners, COLOURS[0].filled());
            drawn.set_margin(0, 0, 0, 1);
            drawn
        });
        chart.draw_series(boxes).map_err(Error::unplotted)?;
        area.present().map_err(Error::unplotted)?;
    }
    Ok(out)
}

fn heat_svg(heat: &Heat, title: &str) -> Result<String, Error> {
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
            let from = heat.x.low + width * step as f64;
            cells.push(Cell {
                across: (from, from + width),
                row,
                // The eye tells apart small amounts better when the scale is that of a root.
                shade: (value.abs() / largest).sqrt(),
            });
        }
    }
    let rows = Rows::new(heat.level.clone(), heat.levels.clone(), 0.0);
    let title = format!("{title} (up to {})", short(largest));
    cells_svg(&heat.x, &rows, cells, &title)
}

/// A piece of a row.
struct Cell {
    across: (f64, f64),
    row: usize,
    /// From 0 to 1.
    shade: f64,
}

/// Pieces of rows with names.
fn cells_svg(x: &Axis, rows: &Rows, cells: Vec<Cell>, title: &str) -> Result<String, Error> {
    let mut out = String::new();
    let count = u32::try_from(rows.names.len()).unwrap_or(1);
    let height = count
        .saturating_mul(20)
        .saturating_add(110)
        .clamp(160, 1_600);
    let longest = rows.names.iter().map(|name| text::width(name)).max();
    let left = u32::try_from(longest.unwrap_or(0).min(NAME_MAX)).unwrap_or(0) * 7 + 40;
    {
        let area = SVGBackend::with_string(&mut out, (SIZE.0, height)).into_drawing_area();
        area.fill(&WHITE).map_err(Error::unplotted)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(fitted(title, 110), ("sans-serif", 16))
            .margin(14)
            .x_label_area_size(46)
            .y_label_area_size(left)
            .build_cartesian_2d(Along(x), rows.clone())
            .map_err(Error::unplotted)?;
        chart
            .configure_mesh()
            .x_desc(&x.title)
            .y_desc(&rows.title)
            .x_labels(8)
            .y_labels(rows.names.len())
            .disable_y_mesh()
            .bold_line_style(GRID)
            .light_line_style(WHITE)
            .y_label_style(("sans-serif", 12).into_font())
            .draw()
            .map_err(Error::unplotted)?;
        let cells = cells.into_iter().map(|cell| {
            let (top, foot) = rows.span(cell.row);
            let corners = [(cell.across.0, top), (cell.across.1, foot)];
            Rectangle::new(corners, shade(cell.shade).filled())
        });
        chart.draw_series(cells).map_err(Error::unplotted)?;
        area.present().map_err(Error::unplotted)?;
    }
    Ok(out)
}

/// From the first colour of all charts at 0 to dark red at 1; a heat map's cells begin a little above 0.
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
struct Rows {
    title: String,
    names: Vec<String>,
    /// What is free above and below each, of 1.
    margin: f64,
}

impl Rows {
    fn new(title: String, names: Vec<String>, margin: f64) -> Self {
        let names = names.iter().map(|name| fitted(name, NAME_MAX)).collect();
        Self {
            title,
            names,
            margin,
        }
    }

    /// From where to where a row goes.
    fn span(&self, row: usize) -> (f64, f64) {
        (row as f64 + self.margin, row as f64 + 1.0 - self.margin)
    }
}

impl Ranged for Rows {
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

impl ValueFormatter<f64> for Rows {
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

/// Points from left to right and from top to bottom.
const SIZE: (u32, u32) = (860, 440);
/// Points of a line that have a dot each.
const DOTS_MAX: usize = 40;
/// Characters of a name.
const NAME_MAX: usize = 36;
const GRID: RGBColor = RGBColor(205, 210, 215);
/// Colours that are told apart also by who sees few (Okabe and Ito 2008), those that are too light left out.
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

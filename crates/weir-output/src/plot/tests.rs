//! Charts as PNG: what a viewer finds in the files.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use tiny_skia::Pixmap;

use super::super::{Format, OutputOptions, Summary, Writer};
use super::{Form, Kind, Plot};

#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn drawn(rows: &RecordBatch, kind: Kind, form: Form) -> (Vec<u8>, Summary) {
    let options = OutputOptions {
        plot: Some(Plot { kind, form }),
        ..OutputOptions::plain(Format::Csv)
    };
    let out = SharedBuffer::default();
    let mut writer = Writer::new(&options, rows.schema(), Box::new(out.clone())).unwrap();
    let _ = writer.write(rows).unwrap();
    let summary = writer.finish().unwrap();
    let bytes = out.0.lock().unwrap().clone();
    (bytes, summary)
}

fn png(rows: &RecordBatch, kind: Kind) -> (Pixmap, Summary) {
    let (bytes, summary) = drawn(rows, kind, Form::Png);
    (Pixmap::decode_png(&bytes).unwrap(), summary)
}

/// Width and height that an SVG says it has.
fn size_of_svg(rows: &RecordBatch, kind: Kind) -> (u32, u32) {
    let (bytes, _) = drawn(rows, kind, Form::Svg);
    let svg = String::from_utf8(bytes).unwrap();
    let side = |name: &str| {
        let (_, rest) = svg.split_once(&format!("{name}=\"")).unwrap();
        rest.split_once('"').unwrap().0.parse().unwrap()
    };
    (side("width"), side("height"))
}

/// Points of just this colour.
fn points(picture: &Pixmap, (red, green, blue): (u8, u8, u8)) -> usize {
    let pixels = picture.pixels().iter();
    let of = |pixel: &&tiny_skia::PremultipliedColorU8| {
        (pixel.red(), pixel.green(), pixel.blue()) == (red, green, blue)
    };
    pixels.filter(of).count()
}

/// Leftmost, topmost, rightmost and bottommost point of a colour.
fn bounds(picture: &Pixmap, (red, green, blue): (u8, u8, u8)) -> (u32, u32, u32, u32) {
    let mut bounds = (u32::MAX, u32::MAX, 0, 0);
    for y in 0..picture.height() {
        for x in 0..picture.width() {
            let pixel = picture.pixel(x, y).unwrap();
            if (pixel.red(), pixel.green(), pixel.blue()) == (red, green, blue) {
                bounds.0 = x.min(bounds.0);
                bounds.1 = y.min(bounds.1);
                bounds.2 = x.max(bounds.2);
                bounds.3 = y.max(bounds.3);
            }
        }
    }
    bounds
}

fn rows(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

const BLUE: (u8, u8, u8) = (0, 114, 178);
const ORANGE: (u8, u8, u8) = (213, 94, 0);
const GREEN: (u8, u8, u8) = (0, 158, 115);
const WHITE: (u8, u8, u8) = (255, 255, 255);

#[test]
fn a_line_has_the_colour_and_the_name_of_each_series() {
    let seconds = (0..30).map(|at| at / 3 * 1_000);
    let names = (0..30).map(|at| ["10.0.0.1", "10.0.0.2", "INVITE é"][at % 3]);
    let batch = rows(vec![
        (
            "second",
            Arc::new(TimestampMillisecondArray::from_iter_values(seconds)),
        ),
        ("ip.src", Arc::new(StringArray::from_iter_values(names))),
        (
            "packets",
            Arc::new(Int64Array::from_iter_values((0..30).map(|at| at * at % 17))),
        ),
    ]);
    let (picture, summary) = png(&batch, Kind::Auto);
    let (width, height) = size_of_svg(&batch, Kind::Auto);
    assert_eq!((picture.width(), picture.height()), (width * 2, height * 2));
    let mut highest = Vec::new();
    for colour in [BLUE, ORANGE, GREEN] {
        assert!(points(&picture, colour) > 500, "{colour:?}");
        // The names beside the chart hide no line: what has the colour furthest to the right is the piece beside a name.
        let (left, top, right, _) = bounds(&picture, colour);
        assert!(left < 200 && right > width * 2 - 240, "{left} {right}");
        highest.push(top);
    }
    assert!(highest.iter().all(|&top| top > 60), "{highest:?}");
    assert!(points(&picture, (0, 0, 0)) > 1_000);
    assert_eq!(summary.notes(), [""; 0]);
}

#[test]
fn bars_are_as_long_as_they_are_much() {
    let batch = rows(vec![
        ("name", Arc::new(StringArray::from(vec!["a", "b"]))),
        ("bytes", Arc::new(Int64Array::from(vec![100, 50]))),
    ]);
    let (picture, _) = png(&batch, Kind::Bars);
    assert_eq!(picture.width(), 1_720);
    let (left, top, right, bottom) = bounds(&picture, BLUE);
    let row = |y: u32| {
        let row = (0..picture.width()).filter(|&x| {
            let pixel = picture.pixel(x, y).unwrap();
            (pixel.red(), pixel.green(), pixel.blue()) == BLUE
        });
        u32::try_from(row.count()).unwrap()
    };
    let (first, second) = (row(top + 4), row(bottom - 4));
    assert_eq!(first, right - left + 1);
    assert!(first.abs_diff(second * 2) < 8, "{first} {second}");
}

#[test]
fn a_histogram_and_a_heat_map_are_filled_with_their_colours() {
    let lengths = Int64Array::from_iter_values((0..400).map(|at| at % 40 * at % 97));
    let batch = rows(vec![("frame.len", Arc::new(lengths.clone()))]);
    let (picture, _) = png(&batch, Kind::Histogram);
    assert!(points(&picture, BLUE) > 20_000);
    let batch = rows(vec![
        (
            "frame.time",
            Arc::new(TimestampMillisecondArray::from_iter_values(
                (0..400).map(|at| at * 1_000),
            )),
        ),
        (
            "ip.src",
            Arc::new(StringArray::from_iter_values(
                (0..400).map(|at| format!("10.0.0.{}", at % 30)),
            )),
        ),
        ("frame.len", Arc::new(lengths)),
    ]);
    let (picture, _) = png(&batch, Kind::Heat);
    // The largest cell is the reddest.
    assert!(points(&picture, (190, 30, 30)) > 50);
    assert!(points(&picture, WHITE) > 10_000);
    // The note of what was left out is below the axis.
    let dark = (0..picture.width()).filter(|&x| {
        let foot = picture.height() - 32..picture.height() - 4;
        foot.into_iter()
            .any(|y| picture.pixel(x, y).unwrap().red() < 100)
    });
    assert!(dark.count() > 100);
}

/// A row of cells that all have something was crossed by white lines where ends and beginnings were rounded apart.
#[test]
fn nothing_shines_through_between_the_cells_of_a_heat_map() {
    for steps in [7_i64, 50, 111, 160] {
        let times = TimestampMillisecondArray::from_iter_values((0..steps).map(|at| at * 1_001));
        let places = usize::try_from(steps).unwrap();
        let batch = rows(vec![
            ("frame.time", Arc::new(times)),
            (
                "ip.src",
                Arc::new(StringArray::from(vec!["10.0.0.1"; places])),
            ),
            ("frame.len", Arc::new(Int64Array::from(vec![5; places]))),
        ]);
        let (picture, _) = png(&batch, Kind::Heat);
        let (left, top, right, bottom) = bounds(&picture, (190, 30, 30));
        let all = usize::try_from((right - left + 1) * (bottom - top + 1)).unwrap();
        assert_eq!(points(&picture, (190, 30, 30)), all, "{steps}");
    }
}

#[test]
fn a_picture_is_bounded_whatever_the_answer() {
    let count = 25_000;
    let long = "x".repeat(5_000);
    let batch = rows(vec![
        (
            "name",
            Arc::new(StringArray::from_iter_values(
                (0..count).map(|at| format!("{at}{long}")),
            )),
        ),
        (
            "bytes",
            Arc::new(Int64Array::from_iter_values(
                (0..count).map(|at| if at % 2 == 0 { i64::MAX } else { i64::MIN }),
            )),
        ),
    ]);
    let (picture, _) = png(&batch, Kind::Bars);
    assert!(picture.width() <= 1_720 && picture.height() <= 3_240);
    assert!(points(&picture, BLUE) > 10_000);
}

//! A ladder drawn on a [`Canvas`]: the picture of its SVG for programs that write other formats of images.

use super::svg::{Grid, HEAD, ROW, row_y};
use super::{Ladder, Rung, instant};

/// The canvas of a ladder. Coordinates are pixels from the upper left corner.
pub trait Canvas {
    /// A straight line.
    fn line(&mut self, from: (usize, usize), to: (usize, usize), ink: Ink);
    /// A filled triangle.
    fn triangle(&mut self, corners: [(usize, usize); 3], ink: Ink);
    /// A filled circle around a place.
    fn circle(&mut self, at: (usize, usize), radius: usize, ink: Ink);
    /// A line of text, of a font of 12 pixels in which each character is as wide as the next.
    fn text(&mut self, at: (usize, usize), anchor: Anchor, text: &str, ink: Ink);
}

/// The point of a text that is at its position, on its base line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The beginning.
    Start,
    /// The middle.
    Middle,
    /// The end.
    End,
}

/// The style of a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Ink {
    /// Red, green, blue.
    pub colour: [u8; 3],
    /// 1 covers what is below.
    pub opacity: f32,
    /// Width of a line, in pixels.
    pub width: f32,
    /// Pixels of the dashes of a line, and of the gaps between them.
    pub dashes: Option<[f32; 2]>,
    /// A text in bold.
    pub is_bold: bool,
}

impl Ink {
    const fn of(colour: [u8; 3]) -> Self {
        Self {
            colour,
            opacity: 1.0,
            width: 1.0,
            dashes: None,
            is_bold: false,
        }
    }
}

impl Ladder {
    /// Width and height of the picture, in pixels.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        Grid::of(self).size(self)
    }

    /// Paints the ladder, on white.
    pub fn paint(&self, canvas: &mut dyn Canvas) {
        let grid = Grid::of(self);
        let (_, height) = grid.size(self);
        let first = self.first_ns();
        let grey = Ink::of(GREY);
        if let Some(first) = first {
            canvas.text((8, 14), Anchor::Start, &instant(first), grey);
        }
        let bottom = height.saturating_sub(ROW / 2);
        for (column, name) in self.columns.iter().enumerate() {
            let x = grid.x(column);
            let name_ink = Ink {
                is_bold: true,
                ..Ink::of(BLACK)
            };
            canvas.line((x, HEAD), (x, bottom), Ink::of(PILLAR));
            let at = (x, HEAD.saturating_sub(10));
            canvas.text(at, Anchor::Middle, name, name_ink);
        }
        for (row, rung) in self.rungs.iter().enumerate() {
            let y = row_y(row);
            canvas.text((8, y), Anchor::Start, &rung.since(first), grey);
            if let Some(frame) = rung.frame {
                let at = (super::svg::FRAME_END, y);
                canvas.text(at, Anchor::End, &format!("#{frame}"), grey);
            }
            paint_rung(canvas, &grid, y, rung);
        }
        if self.dropped > 0 {
            let more = format!("{} more messages are not shown", self.dropped);
            canvas.text((8, bottom), Anchor::Start, &more, grey);
        }
    }
}

fn paint_rung(canvas: &mut dyn Canvas, grid: &Grid, y: usize, rung: &Rung) {
    let opacity = if rung.is_repeat && !rung.is_media {
        REPEAT_OPACITY
    } else {
        1.0
    };
    let is_failure = rung.is_failure && !rung.is_media;
    let of = |colour, failed| Ink {
        opacity,
        ..Ink::of(if is_failure { failed } else { colour })
    };
    let (words, tip) = (of(BLACK, RED), of(BLUE, RED));
    let mut stroke = Ink { width: 1.5, ..tip };
    if rung.is_media {
        stroke.width = 6.0;
        stroke.opacity = 0.4;
    } else if rung.is_repeat {
        stroke.dashes = Some([4.0, 3.0]);
    }
    match grid.arrow(y, rung) {
        None => {
            let from = grid.x(rung.from);
            canvas.circle((from, y), 3, tip);
            let at = (from.saturating_add(8), y.saturating_sub(4));
            canvas.text(at, Anchor::Start, &rung.label, words);
        }
        Some(arrow) => {
            canvas.line((arrow.from, y), (arrow.to, y), stroke);
            let back = |y: usize| (arrow.back, y);
            let corners = [
                (arrow.to, y),
                back(y.saturating_sub(4)),
                back(y.saturating_add(4)),
            ];
            canvas.triangle(corners, tip);
            canvas.text(arrow.label, Anchor::Middle, &rung.label, words);
        }
    }
}

/// The colours of the SVG's style.
const BLACK: [u8; 3] = [0x22; 3];
const GREY: [u8; 3] = [0x66; 3];
const PILLAR: [u8; 3] = [0xbb; 3];
const BLUE: [u8; 3] = [0x1b, 0x5e, 0x9e];
const RED: [u8; 3] = [0xb3, 0x26, 0x1e];
const REPEAT_OPACITY: f32 = 0.55;

#[cfg(test)]
mod tests {
    use super::super::svg::STYLE;
    use super::*;

    /// Writes down what is painted, in the words of the SVG.
    #[derive(Default)]
    struct Words(Vec<String>);

    impl Canvas for Words {
        fn line(&mut self, (x1, y1): (usize, usize), (x2, y2): (usize, usize), _: Ink) {
            self.0
                .push(format!("x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"));
        }
        fn triangle(&mut self, corners: [(usize, usize); 3], _: Ink) {
            let [a, b, c] = corners.map(|(x, y)| format!("{x} {y}"));
            self.0.push(format!("d=\"M{a}L{b}L{c}Z\""));
        }
        fn circle(&mut self, (x, y): (usize, usize), radius: usize, _: Ink) {
            self.0.push(format!("cx=\"{x}\" cy=\"{y}\" r=\"{radius}\""));
        }
        fn text(&mut self, (x, y): (usize, usize), _: Anchor, text: &str, _: Ink) {
            let text = weir_page::Escaped(text);
            self.0.push(format!("x=\"{x}\" y=\"{y}\">{text}</text>"));
        }
    }

    #[test]
    fn what_is_painted_is_what_the_svg_says() {
        let mut ladder = super::super::tests::sample();
        ladder.dropped = 3;
        let svg = ladder.svg();
        let mut words = Words::default();
        ladder.paint(&mut words);
        assert!(words.0.len() > 10);
        for word in &words.0 {
            assert!(svg.contains(word), "{word} in {svg}");
        }
        let marks = |svg: &str| {
            let of = |what: &str| svg.matches(what).count();
            of("<line") + of("<path") + of("<circle") + of("<text")
        };
        assert_eq!(words.0.len(), marks(&svg));
        let (width, height) = ladder.size();
        assert!(svg.contains(&format!("width=\"{width}\" height=\"{height}\"")));
    }

    #[test]
    fn colours_are_those_of_the_style() {
        for colour in [BLACK, GREY, PILLAR, BLUE, RED] {
            let [r, g, b] = colour;
            let long = format!("#{r:02x}{g:02x}{b:02x}");
            let short = format!("#{:x}{:x}{:x}", r & 15, g & 15, b & 15);
            let is_short = colour.iter().all(|part| part >> 4 == part & 15);
            assert!(
                STYLE.contains(if is_short { &short } else { &long }),
                "{long}"
            );
        }
        assert!(STYLE.contains(".repeat{opacity:.55}"));
    }
}

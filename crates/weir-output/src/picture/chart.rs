//! The surface that charts are drawn on: a backend of plotters.

use std::convert::Infallible;
use std::io;

use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    FontStyle, FontTransform,
};
use tiny_skia::{Paint, Path, PathBuilder, Rect, Stroke, Transform};
use weir_sip::Anchor;

use super::{Letters, Painter, Picture, TEXT_PIXELS};
use crate::text;

/// A white surface of points.
pub(crate) struct Surface {
    painter: Painter,
    size: (u32, u32),
}

impl Surface {
    /// A surface of this size; `None` when it would have more points than programs open.
    pub(crate) fn new(width: u32, height: u32) -> Option<Self> {
        let side = |side| usize::try_from(side).ok();
        Some(Self {
            painter: Painter::new(side(width)?, side(height)?)?,
            size: (width, height),
        })
    }

    /// The backend for plotters.
    pub(crate) fn backend(&mut self) -> impl DrawingBackend<ErrorType = Infallible> {
        Backend(self)
    }

    /// The picture of what was drawn.
    ///
    /// # Errors
    /// When it cannot be packed.
    pub(crate) fn finish(self) -> io::Result<Picture> {
        self.painter.finish()
    }
}

struct Backend<'s>(&'s mut Surface);

type DrawResult = Result<(), DrawingErrorKind<Infallible>>;

impl Backend<'_> {
    /// Fills a shape, or draws along its edge.
    fn shape<S: BackendStyle>(&mut self, path: Option<Path>, style: &S, is_filled: bool) {
        let paint = paint(style.color());
        if is_filled {
            self.0.painter.fill(path, &paint);
        } else {
            let stroke = Stroke {
                width: style.stroke_width() as f32,
                ..Stroke::default()
            };
            self.0.painter.stroke(path, &stroke, &paint);
        }
    }
}

impl DrawingBackend for Backend<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.0.size
    }

    fn ensure_prepared(&mut self) -> DrawResult {
        Ok(())
    }

    fn present(&mut self) -> DrawResult {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, color: BackendColor) -> DrawResult {
        let corner = (x.saturating_add(1), y.saturating_add(1));
        self.draw_rect((x, y), corner, &color, true)
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> DrawResult {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> DrawResult {
        let ((left, top), (right, bottom)) = (point(upper_left), point(bottom_right));
        let rect = Rect::from_ltrb(left, top, right, bottom);
        self.shape(rect.map(PathBuilder::from_rect), style, fill);
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> DrawResult {
        self.shape(joined(path).finish(), style, false);
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        center: BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> DrawResult {
        let (x, y) = point(center);
        self.shape(PathBuilder::from_circle(x, y, radius as f32), style, fill);
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        vert: I,
        style: &S,
    ) -> DrawResult {
        let mut path = joined(vert);
        path.close();
        self.shape(path.finish(), style, true);
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        place: BackendCoord,
    ) -> DrawResult {
        let pixels = pixels(style);
        let (x, y) = point(place);
        // The distance of the base line below the position, as in the SVG backend; the height of an x is that of this font.
        let below = match style.anchor().v_pos {
            VPos::Top => 0.76,
            VPos::Center => X_HEIGHT / 2.0,
            VPos::Bottom => -X_HEIGHT / 2.0,
        };
        let degrees = match style.transform() {
            FontTransform::None => 0.0,
            FontTransform::Rotate90 => 90.0,
            FontTransform::Rotate180 => 180.0,
            FontTransform::Rotate270 => 270.0,
        };
        let letters = Letters {
            place: Transform::from_translate(0.0, below * pixels)
                .post_rotate(degrees)
                .post_translate(x, y),
            anchor: match style.anchor().h_pos {
                HPos::Left => Anchor::Start,
                HPos::Center => Anchor::Middle,
                HPos::Right => Anchor::End,
            },
            pixels,
            is_bold: matches!(style.style(), FontStyle::Bold),
        };
        let paint = paint(style.color());
        self.0.painter.letters(text, &letters, &paint);
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        let width = text::width(text) as f32 * pixels(style) * ADVANCE;
        Ok((width.ceil() as u32, style.size().ceil() as u32))
    }
}

/// The height of letters. Plotters counts a size as the height of a line.
fn pixels<S: BackendTextStyle>(style: &S) -> f32 {
    let pixels = (style.size() / 1.24) as f32;
    if pixels.is_finite() {
        pixels
    } else {
        TEXT_PIXELS
    }
}

fn paint(color: BackendColor) -> Paint<'static> {
    let (red, green, blue) = color.rgb;
    super::colour([red, green, blue], color.alpha as f32)
}

fn joined(places: impl IntoIterator<Item = BackendCoord>) -> PathBuilder {
    let mut path = PathBuilder::new();
    for place in places {
        let (x, y) = point(place);
        match path.is_empty() {
            true => path.move_to(x, y),
            false => path.line_to(x, y),
        }
    }
    path
}

fn point((x, y): BackendCoord) -> (f32, f32) {
    (x as f32, y as f32)
}

/// The width of a letter of the font, and the height of an x, relative to the font size.
const ADVANCE: f32 = 0.602;
const X_HEIGHT: f32 = 0.547;

#[cfg(test)]
mod tests {
    use plotters::prelude::IntoFont;
    use plotters::style::TextStyle;

    use super::*;
    use crate::picture::{FONT, glyph};

    #[test]
    fn a_character_that_no_font_has_is_drawn_and_reported() {
        let mut surface = Surface::new(100, 40).unwrap();
        // The fonts of the machine may have it.
        surface.painter.has_looked = true;
        let style = TextStyle::from(("sans-serif", 16).into_font());
        let drawn = surface.backend().draw_text("a\u{4e16}", &style, (10, 10));
        assert!(drawn.is_ok());
        let points = surface.painter.pixmap.pixels().iter();
        let black = points.filter(|point| point.red() < 100).count();
        assert!(black > 50, "{black}");
        let note = surface.finish().unwrap().note.unwrap();
        assert!(note.contains("U+4E16: 1 characters"), "{note}");
    }

    #[test]
    fn letters_are_as_wide_as_charts_take_them_for() {
        for character in "aWi1…é".chars() {
            let (_, advance) = glyph(FONT, character).unwrap();
            assert!(
                (advance / TEXT_PIXELS - ADVANCE).abs() < 0.001,
                "{character} {advance}"
            );
        }
        let (x, _) = glyph(FONT, 'x').unwrap();
        let height = x.unwrap().bounds().height() / TEXT_PIXELS;
        assert!((height - X_HEIGHT).abs() < 0.01, "{height}");
    }
}

//! Pictures of points (PNG) for what takes no SVG: chats, tickets, documents.
//!
//! A font is in the program, so that a picture has its text on machines without any, and looks alike on all. Characters
//! that it does not have are taken from the fonts of the machine; a note says which none of them has.

mod chart;

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;

use skrifa::instance::{LocationRef, Size};
use skrifa::outline::{DrawSettings, OutlinePen};
use skrifa::{FontRef, MetadataProvider};
use tiny_skia::{Color, FillRule, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};
use weir_sip::{Anchor, Canvas, Ink, Ladder};

pub(crate) use chart::Surface;

/// A picture, and a note about what it lacks.
#[derive(Debug)]
pub struct Picture {
    /// The file.
    pub png: Vec<u8>,
    /// The note about what could not be drawn, as a sentence.
    pub note: Option<String>,
}

/// A picture could not be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum PictureError {
    /// The picture would have more points than programs open.
    TooLarge {
        /// Points of a line.
        width: usize,
        /// Lines.
        height: usize,
    },
    /// The picture could not be compressed as PNG.
    Unpacked(io::Error),
}

impl PictureError {
    /// Whether another form of picture is possible.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::TooLarge { .. })
    }

    /// The next thing to try.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::TooLarge { .. } => Some("-o x.svg and -o x.html have no such limit"),
            Self::Unpacked(_) => None,
        }
    }
}

impl fmt::Display for PictureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { width, height } => write!(
                f,
                "a picture of {width} by {height} pixels is too large for most programs"
            ),
            Self::Unpacked(error) => write!(f, "the picture cannot be compressed: {error}"),
        }
    }
}

impl std::error::Error for PictureError {}

/// Paints a ladder.
///
/// # Errors
/// When it would have more points than programs open.
pub fn of_ladder(ladder: &Ladder) -> Result<Picture, PictureError> {
    let (width, height) = ladder.size();
    let mut painter =
        Painter::new(width, height).ok_or(PictureError::TooLarge { width, height })?;
    ladder.paint(&mut painter);
    painter.finish().map_err(PictureError::Unpacked)
}

struct Painter {
    pixmap: Pixmap,
    scale: f32,
    /// The program's own font, and those of the machine once one of them was needed.
    fonts: Vec<Vec<u8>>,
    has_looked: bool,
    /// A character that no font has, and how many there were.
    missing: Option<(char, u64)>,
}

impl Painter {
    /// A white surface: two points a pixel where there is room for them, as screens of today have them.
    fn new(width: usize, height: usize) -> Option<Self> {
        let fits = |scale: usize| {
            let [width, height] = [width, height].map(|side| side.checked_mul(scale));
            let (width, height) = (width?, height?);
            if width.max(height) > SIDE_MAX || width.checked_mul(height)? > POINTS_MAX {
                return None;
            }
            let pixmap = Pixmap::new(u32::try_from(width).ok()?, u32::try_from(height).ok()?)?;
            Some((pixmap, scale))
        };
        let (mut pixmap, scale) = fits(2).or_else(|| fits(1))?;
        pixmap.fill(Color::WHITE);
        Some(Self {
            pixmap,
            scale: scale as f32,
            fonts: vec![FONT.to_vec()],
            has_looked: false,
            missing: None,
        })
    }

    fn transform(&self) -> Transform {
        Transform::from_scale(self.scale, self.scale)
    }

    fn fill(&mut self, path: Option<Path>, paint: &Paint<'_>) {
        let Some(path) = path else {
            return;
        };
        let transform = self.transform();
        let fill = FillRule::Winding;
        self.pixmap.fill_path(&path, paint, fill, transform, None);
    }

    fn stroke(&mut self, path: Option<Path>, stroke: &Stroke, paint: &Paint<'_>) {
        let Some(path) = path else {
            return;
        };
        let transform = self.transform();
        self.pixmap
            .stroke_path(&path, paint, stroke, transform, None);
    }

    /// The outline of a character that stands at the origin, and how wide it is.
    fn glyph(&mut self, character: char) -> (Option<Path>, f32) {
        let found = self.fonts.iter().find_map(|font| glyph(font, character));
        if let Some(found) = found {
            return found;
        }
        if !self.has_looked {
            self.has_looked = true;
            self.fonts.extend(fonts_of_machine());
            return self.glyph(character);
        }
        // A font of the machine that was read for another character may not have this one.
        let (_, count) = self.missing.get_or_insert((character, 0));
        *count = count.saturating_add(1);
        let stand_in = self.fonts.first().and_then(|font| glyph(font, '\u{fffd}'));
        stand_in.unwrap_or((None, TEXT_PIXELS / 2.0))
    }

    fn finish(self) -> io::Result<Picture> {
        let note = self.missing.map(|(character, count)| {
            format!(
                "no installed font has U+{:04X}: {count} characters are drawn as \u{fffd}",
                u32::from(character)
            )
        });
        let png = self.pixmap.encode_png().map_err(io::Error::other)?;
        Ok(Picture { png, note })
    }
}

impl Canvas for Painter {
    fn line(&mut self, from: (usize, usize), to: (usize, usize), ink: Ink) {
        let mut path = PathBuilder::new();
        path.move_to(from.0 as f32, from.1 as f32);
        path.line_to(to.0 as f32, to.1 as f32);
        let stroke = Stroke {
            width: ink.width,
            dash: ink.dashes.and_then(|of| StrokeDash::new(of.to_vec(), 0.0)),
            ..Stroke::default()
        };
        self.stroke(path.finish(), &stroke, &paint(ink));
    }

    fn triangle(&mut self, corners: [(usize, usize); 3], ink: Ink) {
        let mut path = PathBuilder::new();
        let [a, b, c] = corners.map(|(x, y)| (x as f32, y as f32));
        path.move_to(a.0, a.1);
        path.line_to(b.0, b.1);
        path.line_to(c.0, c.1);
        path.close();
        self.fill(path.finish(), &paint(ink));
    }

    fn circle(&mut self, at: (usize, usize), radius: usize, ink: Ink) {
        let path = PathBuilder::from_circle(at.0 as f32, at.1 as f32, radius as f32);
        self.fill(path, &paint(ink));
    }

    fn text(&mut self, at: (usize, usize), anchor: Anchor, text: &str, ink: Ink) {
        let letters = Letters {
            place: Transform::from_translate(at.0 as f32, at.1 as f32),
            anchor,
            pixels: TEXT_PIXELS,
            is_bold: ink.is_bold,
        };
        self.letters(text, &letters, &paint(ink));
    }
}

/// The placement of a line of text in the picture.
struct Letters {
    /// The transform from the text, which begins at the origin on its base line, to the picture.
    place: Transform,
    anchor: Anchor,
    pixels: f32,
    is_bold: bool,
}

impl Painter {
    fn letters(&mut self, text: &str, letters: &Letters, paint: &Paint<'_>) {
        let glyphs: Vec<_> = text
            .chars()
            .map(|character| self.glyph(character))
            .collect();
        let width: f32 = glyphs.iter().map(|(_, advance)| advance).sum();
        let mut x = match letters.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => -width / 2.0,
            Anchor::End => -width,
        };
        // Outlines are those of one size.
        let size = letters.pixels / TEXT_PIXELS;
        for (outline, advance) in glyphs {
            let place = Transform::from_translate(x, 0.0)
                .post_scale(size, size)
                .post_concat(letters.place);
            let placed = outline.and_then(|path| path.transform(place));
            if letters.is_bold {
                let stroke = Stroke {
                    width: BOLD_PIXELS,
                    ..Stroke::default()
                };
                self.stroke(placed.clone(), &stroke, paint);
            }
            self.fill(placed, paint);
            x += advance;
        }
    }
}

fn paint(ink: Ink) -> Paint<'static> {
    colour(ink.colour, ink.opacity)
}

fn colour([red, green, blue]: [u8; 3], opacity: f32) -> Paint<'static> {
    let opacity = (opacity.clamp(0.0, 1.0) * 255.0).round() as u8;
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, opacity);
    paint
}

/// The glyph of a font for a character: its outline, unless it is a space, and its width.
fn glyph(font: &[u8], character: char) -> Option<(Option<Path>, f32)> {
    let font = FontRef::from_index(font, 0).ok()?;
    let id = font.charmap().map(character)?;
    let size = Size::new(TEXT_PIXELS);
    let place = LocationRef::default();
    let advance = font.glyph_metrics(size, place).advance_width(id)?;
    let mut pen = Pen(PathBuilder::new());
    let outline = font.outline_glyphs().get(id)?;
    outline
        .draw(DrawSettings::unhinted(size, place), &mut pen)
        .ok()?;
    Some((pen.0.finish(), advance))
}

/// Builds an outline; a font counts upwards, a picture downwards.
struct Pen(PathBuilder);

impl OutlinePen for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.0.move_to(x, -y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.0.line_to(x, -y);
    }

    fn quad_to(&mut self, cx0: f32, cy0: f32, x: f32, y: f32) {
        self.0.quad_to(cx0, -cy0, x, -y);
    }

    fn curve_to(&mut self, cx0: f32, cy0: f32, cx1: f32, cy1: f32, x: f32, y: f32) {
        self.0.cubic_to(cx0, -cy0, cx1, -cy1, x, -y);
    }

    fn close(&mut self) {
        self.0.close();
    }
}

/// The fonts of the machine, in the order of their names: as many as there is room for.
fn fonts_of_machine() -> Vec<Vec<u8>> {
    let mut folders: Vec<PathBuf> = FONT_FOLDERS.iter().map(PathBuf::from).collect();
    if let Some(home) = std::env::var_os("HOME") {
        folders.push(PathBuf::from(home).join(".local/share/fonts"));
    }
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() {
                folders.push(entry.path());
            } else if entry.path().extension().is_some_and(|ending| {
                ["ttf", "otf", "ttc"]
                    .iter()
                    .any(|known| ending.eq_ignore_ascii_case(known))
            }) {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    let mut room = FONTS_BYTES_MAX;
    let mut fonts = Vec::new();
    for file in files {
        let bytes = fs::metadata(&file).map_or(u64::MAX, |metadata| metadata.len());
        let Some(left) = room.checked_sub(bytes) else {
            continue;
        };
        if let Ok(font) = fs::read(&file) {
            room = left;
            fonts.push(font);
        }
    }
    fonts
}

/// DejaVu Sans Mono, reduced to Latin, Greek and Cyrillic; its licence lies beside it.
const FONT: &[u8] = include_bytes!("../fonts/DejaVuSansMono.ttf");
const TEXT_PIXELS: f32 = 12.0;
/// The width that bold adds to outlines.
const BOLD_PIXELS: f32 = 0.7;
/// Browsers and viewers open pictures up to this side; four bytes a point are 256 MiB.
const SIDE_MAX: usize = 32_767;
const POINTS_MAX: usize = 64 << 20;
/// The maximum bytes of the machine's fonts that are read.
const FONTS_BYTES_MAX: u64 = 128 << 20;
const FONT_FOLDERS: [&str; 4] = [
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "/System/Library/Fonts",
    "/Library/Fonts",
];

#[cfg(test)]
mod tests {
    use weir_sip::Step;

    use super::*;

    fn ladder(label: &str) -> Ladder {
        let mut ladder = Ladder::new("x");
        ladder.push(Step {
            from: "10.0.0.1:5060".into(),
            to: "10.0.0.2:5060".into(),
            label: label.into(),
            ..Step::default()
        });
        ladder
    }

    #[test]
    fn text_is_painted_without_a_font_of_the_machine() {
        let mut painter = Painter::new(200, 40).unwrap();
        painter.has_looked = true;
        let black = |painter: &Painter| {
            let points = painter.pixmap.pixels().iter();
            points.filter(|point| point.red() < 100).count()
        };
        let ladder = ladder("INVITE é ж → …");
        assert_eq!(black(&painter), 0);
        ladder.paint(&mut painter);
        let own = black(&painter);
        assert!(own > 100, "{own}");
        assert_eq!(painter.missing, None);
        painter.glyph('\u{4e16}');
        painter.glyph('\u{4e16}');
        assert_eq!(painter.missing, Some(('\u{4e16}', 2)));
        let note = painter.finish().unwrap().note.unwrap();
        assert!(note.contains("U+4E16: 2 characters"), "{note}");
    }

    #[test]
    fn every_character_of_a_ladder_s_own_words_is_in_the_font() {
        for character in (' '..='~').chain("…–—→←äßéñçøžşğčПриветΩ€".chars())
        {
            assert!(glyph(FONT, character).is_some(), "{character:?}");
        }
    }

    #[test]
    fn a_picture_is_a_png_of_its_size_or_refused() {
        let ladder = ladder("INVITE");
        let (width, height) = ladder.size();
        let picture = of_ladder(&ladder).unwrap();
        let side = |at: usize| {
            let bytes = picture.png[at..at + 4].try_into().unwrap();
            u32::from_be_bytes(bytes) as usize
        };
        assert_eq!(&picture.png[..8], b"\x89PNG\r\n\x1a\n");
        assert_eq!((side(16), side(20)), (width * 2, height * 2));
        assert!(Painter::new(20_000, 100).is_some_and(|painter| painter.scale < 1.5));
        for (width, height) in [(40_000, 10), (30_000, 30_000), (usize::MAX, 2), (0, 1)] {
            assert!(Painter::new(width, height).is_none());
        }
    }
}

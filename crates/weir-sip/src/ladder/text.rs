//! A ladder in characters.

use super::{Ladder, Rung, cells, gap, instant, width};

impl Ladder {
    /// The ladder as text, one line a message. Each line ends with a line feed.
    #[must_use]
    pub fn text(&self) -> String {
        self.lines("", "")
    }

    /// The same for a terminal with colours: what was refused is red.
    #[must_use]
    pub fn coloured_text(&self) -> String {
        self.lines("\x1b[31m", "\x1b[0m")
    }

    fn lines(&self, red: &str, plain: &str) -> String {
        let widest = |texts: &mut dyn Iterator<Item = &String>| {
            texts.map(|text| width(text)).max().unwrap_or(0)
        };
        let name = widest(&mut self.columns.iter());
        let label = widest(&mut self.rungs.iter().map(|rung| &rung.label));
        // The distance of pillars has room for a label with an arrow around it, or for two halves of names.
        let pitch = name
            .saturating_add(2)
            .max(label.saturating_add(8))
            .clamp(PITCH_MIN, PITCH_MAX);
        let frames = self.rungs.iter().filter_map(|rung| rung.frame).max();
        let frame_chars = frames.map_or(0, |frame| frame.to_string().len().saturating_add(2));
        let grid = Grid {
            frame_chars,
            margin: TIME_CHARS
                .saturating_add(frame_chars)
                .saturating_add(name / 2)
                .saturating_add(2),
            pitch,
        };
        let first = self.first_ns();
        let begins = first.map_or_else(String::new, |ns| format!("begins {}", instant(ns)));
        let mut text = String::new();
        let mut push = |line: &str| {
            text.push_str(line.trim_end());
            text.push('\n');
        };
        push(&self.title);
        push(&begins);
        push(&self.heading(&grid));
        for rung in &self.rungs {
            let line = self.line(&grid, rung, first);
            match rung.is_failure {
                true => push(&format!("{red}{}{plain}", line.trim_end())),
                false => push(&line),
            }
        }
        if self.dropped > 0 {
            push(&format!("{} more messages are not shown", self.dropped));
        }
        text
    }

    fn line(&self, grid: &Grid, rung: &Rung, first: Option<i64>) -> String {
        let mut canvas = vec![' '; self.width(grid)];
        draw(&mut canvas, &rung.since(first), 0, TIME_CHARS);
        if let Some(frame) = rung.frame {
            draw(
                &mut canvas,
                &format!("#{frame}"),
                TIME_CHARS.saturating_add(1),
                grid.frame_chars.saturating_sub(1),
            );
        }
        arrow(&mut canvas, rung, grid);
        // An arrow passes behind the pillars on its way.
        for column in 0..self.columns.len() {
            draw(&mut canvas, "|", grid.pillar(column), 1);
        }
        written(canvas)
    }

    fn heading(&self, grid: &Grid) -> String {
        let mut canvas = vec![' '; self.width(grid)];
        for (column, name) in self.columns.iter().enumerate() {
            let name = fitted(name, grid.pitch.saturating_sub(2));
            let start = grid.pillar(column).saturating_sub(width(&name) / 2);
            draw(&mut canvas, &name, start, width(&name));
        }
        written(canvas)
    }

    fn width(&self, grid: &Grid) -> usize {
        grid.pillar(self.columns.len())
    }
}

/// The positions of pillars.
struct Grid {
    /// Characters of numbers of records, with the blank before them.
    frame_chars: usize,
    margin: usize,
    pitch: usize,
}

impl Grid {
    const fn pillar(&self, column: usize) -> usize {
        self.margin
            .saturating_add(self.pitch.saturating_mul(column))
    }
}

/// The mark of the cells that a wide character takes besides its first.
const COVERED: char = '\0';

fn written(canvas: Vec<char>) -> String {
    canvas.into_iter().filter(|cell| *cell != COVERED).collect()
}

/// The beginning of a text that takes no more than so many cells.
fn fitted(text: &str, room: usize) -> String {
    let mut used = 0_usize;
    text.chars()
        .take_while(|character| {
            used = used.saturating_add(cells(*character));
            used <= room
        })
        .collect()
}

/// Writes `text`, to the right of a field of `room` cells.
fn draw(canvas: &mut [char], text: &str, start: usize, room: usize) {
    let mut at = start.saturating_add(room.saturating_sub(width(text)));
    for character in text.chars() {
        let taken = cells(character);
        let places = canvas.get_mut(at..at.saturating_add(taken));
        for (place, cell) in places.unwrap_or_default().iter_mut().enumerate() {
            *cell = if place == 0 { character } else { COVERED };
        }
        at = at.saturating_add(taken);
    }
}

fn arrow(canvas: &mut [char], rung: &Rung, grid: &Grid) {
    let (left, right) = (rung.from.min(rung.to), rung.from.max(rung.to));
    let start = grid.pillar(left).saturating_add(1);
    if left == right {
        let label = fitted(&format!("<> {}", rung.label), grid.pitch.saturating_sub(1));
        return draw(canvas, &label, start, width(&label));
    }
    let length = grid.pillar(right).saturating_sub(start);
    let line = match (rung.is_media, rung.is_repeat) {
        (true, _) => "=",
        (false, true) => ".",
        (false, false) => "-",
    };
    draw(canvas, &line.repeat(length), start, length);
    let tip = if rung.from < rung.to {
        (start.saturating_add(length).saturating_sub(1), ">")
    } else {
        (start, "<")
    };
    draw(canvas, tip.1, tip.0, 1);
    let (before, behind) = gap(rung);
    let start = grid.pillar(before).saturating_add(1);
    let room = grid.pillar(behind).saturating_sub(start);
    let label = fitted(&format!(" {} ", rung.label), room.saturating_sub(4));
    let middle = start.saturating_add(room.saturating_sub(width(&label)) / 2);
    draw(canvas, &label, middle, width(&label));
}

/// Characters of the column of times, right-aligned.
const TIME_CHARS: usize = 12;
const PITCH_MIN: usize = 24;
const PITCH_MAX: usize = 72;

#[cfg(test)]
mod tests {
    use crate::{Ladder, Step};

    #[test]
    fn media_are_bars() {
        let mut ladder = Ladder::new("x");
        ladder.push(Step {
            time_ns: Some(0),
            from: "a".into(),
            to: "b".into(),
            label: "RTP PCMU, 1 % lost".into(),
            is_media: true,
            ..Step::default()
        });
        assert!(ladder.text().contains("|== RTP PCMU, 1 % lost ==>|"));
        assert!(ladder.svg().contains("class=\"rung media\""));
    }

    #[test]
    fn labels_cross_no_pillar_and_refusals_are_red() {
        let mut ladder = Ladder::new("x");
        for (from, to, label, is_failure) in [
            ("a", "b", "INVITE", false),
            ("b", "c", "INVITE", false),
            ("c", "a", "486 占线", true),
            ("a", "c", "ACK", false),
        ] {
            ladder.push(Step {
                from: from.into(),
                to: to.into(),
                label: label.into(),
                is_failure,
                frame: Some(12),
                ..Step::default()
            });
        }
        let text = ladder.text();
        let lines: Vec<&str> = text.lines().skip(3).collect();
        assert_eq!(
            lines,
            [
                "           - #12  |------- INVITE ------->|                       |",
                "           - #12  |                       |------- INVITE ------->|",
                "           - #12  |<----------------------|------ 486 占线 -------|",
                "           - #12  |--------- ACK ---------|---------------------->|",
            ]
        );
        let red: Vec<String> = ladder
            .coloured_text()
            .lines()
            .filter(|line| line.contains('\x1b'))
            .map(str::to_owned)
            .collect();
        assert_eq!(red, [format!("\x1b[31m{}\x1b[0m", lines[2])]);
    }

    #[test]
    fn arrows_point_from_sender_to_receiver() {
        let text = super::super::tests::sample().text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "Call-ID <x>",
                "begins 1970-01-01 00:00:00.000000 UTC",
                "                a:1                   proxy:2                   b:3",
                "    0.000000     |------- INVITE ------->|                       |",
                "    1.500000     |                       |--- INVITE <script> -->|",
                "    2.000000     |<......................|... 200 OK\\r\\nX: y ....|",
                "    2.100000     |<> ACK                 |                       |",
            ]
        );
    }
}

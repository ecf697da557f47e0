//! A ladder in characters.

use super::{Ladder, Rung};

impl Ladder {
    /// The ladder as text, one line a message. Each line ends with a line feed.
    #[must_use]
    pub fn text(&self) -> String {
        let longest = |texts: &mut dyn Iterator<Item = &String>| {
            texts.map(|text| text.chars().count()).max().unwrap_or(0)
        };
        let name = longest(&mut self.columns.iter());
        let label = longest(&mut self.rungs.iter().map(|rung| &rung.label));
        // From pillar to pillar: room for a label with an arrow around it, or for two halves of names.
        let pitch = name
            .saturating_add(2)
            .max(label.saturating_add(8))
            .clamp(PITCH_MIN, PITCH_MAX);
        let margin = TIME_CHARS.saturating_add(name / 2).saturating_add(2);
        let mut lines = vec![
            self.title.clone(),
            String::new(),
            self.heading(margin, pitch),
        ];
        let first = self.rungs.iter().find_map(|rung| rung.seconds);
        for rung in &self.rungs {
            let since = match (rung.seconds, first) {
                (Some(at), Some(first)) => format!("{:.6}", at - first),
                _ => "-".to_owned(),
            };
            let mut canvas = self.pillars(margin, pitch);
            draw(
                &mut canvas,
                &since.chars().collect::<Vec<_>>(),
                0,
                TIME_CHARS,
            );
            arrow(&mut canvas, rung, margin, pitch);
            lines.push(canvas.into_iter().collect());
        }
        if self.dropped > 0 {
            lines.push(format!("{} more messages are not shown", self.dropped));
        }
        let mut text = String::new();
        for line in lines {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    fn heading(&self, margin: usize, pitch: usize) -> String {
        let mut canvas = vec![' '; self.width(margin, pitch)];
        for (column, name) in self.columns.iter().enumerate() {
            let name: Vec<char> = name.chars().take(pitch.saturating_sub(2)).collect();
            let start = pillar(margin, pitch, column).saturating_sub(name.len() / 2);
            draw(&mut canvas, &name, start, name.len());
        }
        canvas.into_iter().collect()
    }

    fn pillars(&self, margin: usize, pitch: usize) -> Vec<char> {
        let mut canvas = vec![' '; self.width(margin, pitch)];
        for column in 0..self.columns.len() {
            draw(&mut canvas, &['|'], pillar(margin, pitch, column), 1);
        }
        canvas
    }

    fn width(&self, margin: usize, pitch: usize) -> usize {
        pillar(margin, pitch, self.columns.len())
    }
}

fn pillar(margin: usize, pitch: usize, column: usize) -> usize {
    margin.saturating_add(pitch.saturating_mul(column))
}

/// Writes `text`, to the right of a field of `width` characters.
fn draw(canvas: &mut [char], text: &[char], start: usize, width: usize) {
    let start = start.saturating_add(width.saturating_sub(text.len()));
    let places = canvas.get_mut(start..).unwrap_or_default();
    for (place, character) in places.iter_mut().zip(text) {
        *place = *character;
    }
}

fn arrow(canvas: &mut [char], rung: &Rung, margin: usize, pitch: usize) {
    let (left, right) = (rung.from.min(rung.to), rung.from.max(rung.to));
    let start = pillar(margin, pitch, left).saturating_add(1);
    if left == right {
        let label: Vec<char> = format!("<> {}", rung.label).chars().collect();
        let label = label.get(..pitch.saturating_sub(1)).unwrap_or(&label);
        return draw(canvas, label, start, label.len());
    }
    let width = pillar(margin, pitch, right).saturating_sub(start);
    let line = match (rung.is_media, rung.is_repeat) {
        (true, _) => '=',
        (false, true) => '.',
        (false, false) => '-',
    };
    draw(canvas, &vec![line; width], start, width);
    let tip = if rung.from < rung.to {
        (start.saturating_add(width).saturating_sub(1), '>')
    } else {
        (start, '<')
    };
    draw(canvas, &[tip.1], tip.0, 1);
    let room = width.saturating_sub(4);
    let label: Vec<char> = format!(" {} ", rung.label).chars().take(room).collect();
    let middle = start.saturating_add(width.saturating_sub(label.len()) / 2);
    draw(canvas, &label, middle, label.len());
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
    fn arrows_point_from_sender_to_receiver() {
        let text = super::super::tests::sample().text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "Call-ID <x>",
                "",
                "                a:1                   proxy:2                   b:3",
                "    0.000000     |------- INVITE ------->|                       |",
                "    1.500000     |                       |--- INVITE <script> -->|",
                "    2.000000     |<.............. 200 OK\\r\\nX: y ................|",
                "    2.100000     |<> ACK                 |                       |",
            ]
        );
    }
}

//! A call as a ladder that can be walked on.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use weir_sip::{Ladder, Rung};

use super::canvas::{Theme, put, scrolled};
use crate::sip::calls::book::Book;
use crate::sip::calls::view::View;
use weir_output::text::{escaped, width};

/// The columns of the pillars.
struct Grid {
    /// Cells of the times at the left.
    times: usize,
    pitch: usize,
    /// The first column that is shown.
    left: usize,
}

impl Grid {
    fn new(cells: usize, columns: usize, left: usize) -> Self {
        let times = match cells {
            ..30 => 0,
            30..60 => SHORT_TIME_CELLS,
            _ => TIME_CELLS,
        };
        let pitch = cells
            .saturating_sub(times)
            .checked_div(columns.max(1))
            .unwrap_or_default()
            .clamp(PITCH_MIN, PITCH_MAX);
        // No pillar is out of sight if there is room for all.
        let is_whole = pitch.saturating_mul(columns).saturating_add(times) <= cells;
        Self {
            times,
            pitch,
            left: if is_whole { 0 } else { left },
        }
    }

    /// The cell of a pillar; `None` when it is scrolled out to the left.
    fn pillar(&self, column: usize) -> Option<usize> {
        let place = column.checked_sub(self.left)?.saturating_mul(self.pitch);
        Some(
            self.times
                .saturating_add(place)
                .saturating_add(self.pitch / 2),
        )
    }
}

/// Draws the call that is open, and returns the text of the title.
pub(super) fn draw(
    buffer: &mut Buffer,
    area: Rect,
    view: &mut View,
    book: &Book,
    theme: Theme,
) -> String {
    let Some(row) = book.row(view.open) else {
        return "this call was dropped from memory".to_owned();
    };
    let ladder = row.ladder();
    let grid = Grid::new(usize::from(area.width), ladder.columns().len(), view.left);
    view.left = grid.left;
    let heads = match area.height {
        0..4 => 0,
        _ => HEAD_LINES,
    };
    for (column, name) in ladder.columns().iter().enumerate() {
        heading(buffer, area, &grid, column, name, heads);
    }
    let rungs = ladder.rungs();
    let last = rungs.len().saturating_sub(1);
    view.rung = view.rung.min(last);
    let room = usize::from(area.height).saturating_sub(heads).max(1);
    view.room = room;
    view.ladder_top = scrolled(view.ladder_top, view.rung, room, rungs.len());
    let first = rungs.iter().find_map(|rung| rung.time_ns);
    let shown = rungs.iter().enumerate().skip(view.ladder_top).take(room);
    for (line, (number, rung)) in shown.enumerate() {
        let y = line.saturating_add(heads);
        time(buffer, area, &grid, y, rung, first, theme);
        arrow(buffer, area, &grid, y, rung, style(rung, theme));
        // An arrow passes behind the pillars on its way.
        pillars(buffer, area, &grid, &ladder, y, theme);
        if number == view.rung
            && let Ok(y) = u16::try_from(y)
            && y < area.height
        {
            let line = Rect {
                y: area.y.saturating_add(y),
                height: 1,
                ..area
            };
            buffer.set_style(line, Theme::selected());
        }
    }
    let id = String::from_utf8_lossy(&row.call_id);
    let mut title = format!("{} {}", row.state, escaped(&id));
    if row.first_frame < book.kept_from {
        title = format!("{title}, its first packets are no longer in memory");
    }
    let sound = book.sound(row);
    if let Some(lost) = sound.lost {
        title.push_str(&format!(", {lost} lost"));
    }
    if let Some(mos) = sound.mos {
        title.push_str(&format!(", MOS {mos:.1}"));
    }
    let more = row.messages.saturating_sub(row.entries().len() as u64);
    if more > 0 || ladder.dropped() > 0 {
        let more = more.saturating_add(ladder.dropped());
        title.push_str(&format!(", {more} more messages are not shown"));
    }
    title
}

/// The name of a pillar: its address, and its port below.
fn heading(buffer: &mut Buffer, area: Rect, grid: &Grid, column: usize, name: &str, heads: usize) {
    let Some(pillar) = grid.pillar(column) else {
        return;
    };
    let (address, port) = name.rsplit_once(':').unwrap_or((name, ""));
    let room = grid.pitch.saturating_sub(1);
    for (y, text) in [address, port].into_iter().enumerate().take(heads) {
        let x = pillar.saturating_sub(width(text).min(room) / 2);
        put(buffer, area, x, y, text, room, Theme::heading());
    }
}

fn pillars(buffer: &mut Buffer, area: Rect, grid: &Grid, ladder: &Ladder, y: usize, theme: Theme) {
    for column in 0..ladder.columns().len() {
        if let Some(pillar) = grid.pillar(column) {
            put(buffer, area, pillar, y, "|", 1, theme.of(Color::DarkGray));
        }
    }
}

fn time(
    buffer: &mut Buffer,
    area: Rect,
    grid: &Grid,
    y: usize,
    rung: &Rung,
    first: Option<i64>,
    theme: Theme,
) {
    let digits = match grid.times {
        0 => return,
        TIME_CELLS => 6,
        _ => 3,
    };
    let since_ns = rung.time_ns.zip(first);
    let since = match since_ns.and_then(|(at, first)| at.checked_sub(first)) {
        // Seconds of a call: the precision of a double is plenty.
        Some(ns) => format!("{:.digits$}", ns as f64 / 1e9),
        None => "-".to_owned(),
    };
    let room = grid.times.saturating_sub(1);
    let x = room.saturating_sub(width(&since));
    put(buffer, area, x, y, &since, room, theme.of(Color::DarkGray));
}

/// An arrow from pillar to pillar; what comes from or goes to a pillar out of sight begins or ends at the edge.
fn arrow(buffer: &mut Buffer, area: Rect, grid: &Grid, y: usize, rung: &Rung, style: Style) {
    let (left, right) = (rung.from.min(rung.to), rung.from.max(rung.to));
    let Some(end) = grid.pillar(right) else {
        return;
    };
    if left == right {
        let label = format!("<> {}", rung.label);
        let room = grid.pitch.saturating_sub(1);
        return put(buffer, area, end.saturating_add(1), y, &label, room, style);
    }
    let start = grid
        .pillar(left)
        .map_or(grid.times, |pillar| pillar.saturating_add(1));
    let edge = usize::from(area.width);
    let seen_end = end.min(edge);
    let Some(cells) = seen_end.checked_sub(start).filter(|cells| *cells > 0) else {
        return;
    };
    let stroke = match (rung.is_media, rung.is_repeat) {
        (true, _) => "=",
        (false, true) => ".",
        (false, false) => "-",
    };
    put(buffer, area, start, y, &stroke.repeat(cells), cells, style);
    if rung.from < rung.to && end <= edge {
        put(buffer, area, end.saturating_sub(1), y, ">", 1, style);
    } else if rung.from > rung.to && grid.pillar(left).is_some() {
        put(buffer, area, start, y, "<", 1, style);
    }
    // A label stays between its sender's pillar and the next on its way; where that is out of sight, at the edge.
    let next = match rung.from < rung.to {
        true => rung.from.saturating_add(1),
        false => rung.from.saturating_sub(1),
    };
    let (one, other) = (grid.pillar(rung.from), grid.pillar(next));
    let before = one
        .min(other)
        .map_or(start, |pillar| pillar.saturating_add(1));
    let behind = one.max(other).unwrap_or(seen_end).min(edge);
    let cells = behind.saturating_sub(before);
    let room = cells.saturating_sub(4);
    let label = format!(" {} ", rung.label);
    let taken = width(&label).min(room);
    let x = before.saturating_add(cells.saturating_sub(taken) / 2);
    put(buffer, area, x, y, &label, room, style);
}

fn style(rung: &Rung, theme: Theme) -> Style {
    match rung {
        Rung {
            is_failure: true, ..
        } => theme.failure(),
        Rung { is_media: true, .. } => theme.of(Color::Cyan),
        Rung {
            is_repeat: true, ..
        } => theme.of(Color::Yellow),
        _ => Style::new(),
    }
}

const TIME_CELLS: usize = 13;
const SHORT_TIME_CELLS: usize = 9;
const HEAD_LINES: usize = 2;
const PITCH_MIN: usize = 14;
const PITCH_MAX: usize = 44;

//! The statistics as one page of HTML.

use weir_page::{Page, Point};
use weir_ws::size_classes;

use super::{Audit, Stats, Sums, class_of};
use crate::ws::input;
use weir_output::grouped;

impl Audit {
    /// The tables for reading, and plots: sizes before and after compression, the ratio of every connection, and the
    /// window that its matches needed.
    pub(super) fn page(&self, args: &Stats) -> String {
        let title = match (&args.live.capture.interface, &args.captures[..]) {
            (Some(interface), _) => interface.clone(),
            (None, [one]) => input::name(one),
            (None, several) => format!("{} captures", several.len()),
        };
        self.html(&title)
    }

    fn html(&self, title: &str) -> String {
        let mut page = Page::new(
            &format!("{title}: WebSocket connections"),
            &format!("WebSocket connections of {title}"),
        );
        page.paragraph(&format!("{} connections.", grouped(self.count())));
        self.totals().put(&mut page);
        if self.violations.is_empty() {
            page.paragraph("No violations, limits or missing bytes.");
        }
        page.heading("Sizes of messages");
        page.histogram(
            &size_classes(&self.sizes),
            "bytes before compression, up to",
            "messages",
        );
        page.histogram(
            &size_classes(&self.wire_sizes),
            "bytes on the wire, up to",
            "messages",
        );
        let connections = self.connections.values();
        compressed(
            connections.flat_map(|connection| &connection.directions),
            &mut page,
        );
        self.by_connection(CONNECTIONS_ON_PAGE).put(&mut page);
        page.finish()
    }
}

/// Plots of the directions of connections that compressed.
fn compressed<'s>(directions: impl Iterator<Item = &'s Sums>, page: &mut Page) {
    let mut points = Vec::new();
    let mut windows = [0_u64; 33];
    for (sums, ratio) in directions.filter_map(|sums| Some((sums, sums.ratio()?))) {
        points.push(Point {
            x: sums.inflated_bytes as f64 / 1024.0,
            y: ratio,
            large: true,
            ringed: ratio >= 1.0,
        });
        if let Some(count) = windows.get_mut(class_of(sums.distance_max.into())) {
            *count += 1;
        }
    }
    page.heading("Ratio of every direction that is compressed");
    if points.is_empty() {
        return page.paragraph("No connection sent compressed messages.");
    }
    page.scatter(&points, "KiB before compression", "ratio");
    page.paragraph("Ring: compression did not make the messages shorter.");
    page.heading("Windows that were needed");
    page.histogram(
        &size_classes(&windows),
        "largest distance in bytes, up to",
        "directions",
    );
    page.paragraph(
        "Every match that was sent lies within a window of this size: \
         where it is far below the negotiated size, memory can be saved.",
    );
}

/// Connections in the table of the page.
const CONNECTIONS_ON_PAGE: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_seen_is_a_page_too() {
        let page = Audit::new().html("<trace>.pcap & co");
        assert!(page.contains("&lt;trace&gt;.pcap &amp; co") && !page.contains("<trace>"));
        assert!(page.contains("No connection sent compressed messages."));
    }

    #[test]
    fn what_was_seen_is_in_the_page() {
        let mut audit = Audit::new();
        audit.sizes[class_of(1000)] = 7;
        audit.agreed.insert("<b>".to_owned(), 1);
        audit.violations.insert("a reserved bit is set", 3);
        let page = audit.html("trace.pcap");
        for what in [
            "<td>&lt;b&gt;<td>1<",
            "<td>a reserved bit is set<td>3<",
            "<title>7</title>",
            "name=\"viewport\"",
            "@media print",
        ] {
            assert!(page.replace('\n', "<").contains(what), "{what} in {page}");
        }
        for what in ["<script", "src=", "href=", "@import", "url("] {
            assert!(!page.contains(what), "{what}");
        }
    }

    #[test]
    fn every_compressed_direction_is_a_dot() {
        let sums = |inflated_bytes, deflated_bytes| Sums {
            inflated_bytes,
            deflated_bytes,
            distance_max: 300,
            ..Sums::default()
        };
        let mut page = Page::new("", "");
        let directions = [sums(1000, 300), sums(10, 12), sums(0, 0)];
        compressed(directions.iter(), &mut page);
        let page = page.finish();
        assert_eq!(page.matches(" r=\"4\"").count(), 2, "{page}");
        assert_eq!(
            page.matches(" r=\"8\"").count(),
            1,
            "the longer one: {page}"
        );
        assert!(page.contains("<title>2</title>") && page.contains(">512 B</text>"));
    }

    #[test]
    fn classes_end_at_powers_of_two() {
        for (bytes, class) in [
            (0, 0),
            (1, 0),
            (2, 1),
            (3, 2),
            (4, 2),
            (5, 3),
            (u64::MAX, 32),
        ] {
            assert_eq!(class_of(bytes), class, "{bytes}");
        }
    }
}

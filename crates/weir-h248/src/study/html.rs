//! A study as a page of its own: four plots and a table.

use std::fmt::Write as _;

use super::{Average, Study, VARIANTS, peers::Peer, report::peer_of};

/// One of the plots: its title, its unit, what it shows of ours and of others.
struct Plot {
    title: &'static str,
    unit: &'static str,
    /// Times differ by factors, so their axis is logarithmic.
    logarithmic: bool,
    ours: fn(&Average) -> f64,
    others: fn(&Peer) -> Option<(f64, f64)>,
}

const PLOTS: [Plot; 4] = [
    Plot {
        title: "Message size",
        unit: "octets",
        logarithmic: false,
        ours: |average| average.size,
        others: |_| None,
    },
    Plot {
        title: "Encode time",
        unit: "ns",
        logarithmic: true,
        ours: |average| average.encode_ns,
        others: |peer| Some((peer.seed.0, peer.erlang.0)),
    },
    Plot {
        title: "Decode time",
        unit: "ns",
        logarithmic: true,
        ours: |average| average.decode_ns,
        others: |peer| Some((peer.seed.1, peer.erlang.1)),
    },
    Plot {
        title: "Total time",
        unit: "ns",
        logarithmic: true,
        ours: Average::total_ns,
        others: |peer| Some((peer.seed.0 + peer.seed.1, peer.erlang.0 + peer.erlang.1)),
    },
];

const STYLE: &str = "body{font:14px sans-serif;margin:2em auto;max-width:64em;padding:0 1em;color:#222;background:#fff}\
h1{font-size:1.5em}h2{font-size:1.1em;margin-top:2em}table{border-collapse:collapse}\
th,td{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}th:first-child,td:first-child{text-align:left}\
svg{max-width:100%;height:auto}text{font:12px sans-serif;fill:#222}.weir{fill:#1f77b4}.erlang{fill:#d98c2b}.seed{fill:#999}\
@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}text{fill:#ddd}th,td{border-color:#444}}";

const BAR: usize = 14;
const LEFT: f64 = 210.0;
const WIDTH: f64 = 520.0;

impl Study {
    /// The study as one HTML page that needs nothing else: the plots of size, encode, decode and
    /// total time, the averages, and every message.
    #[must_use]
    pub fn to_html(&self) -> String {
        let averages = self.averages();
        let peers = self.peers(&averages);
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <title>Megaco encodings compared</title><style>{STYLE}</style></head><body>\n\
             <h1>Megaco encodings compared</h1>\n<p>{} messages, averages over those that an encoding \
             can carry.",
            self.messages().len()
        );
        if !peers.is_empty() {
            out.push_str(
                " They are the messages of Erlang/OTP's own study: its figures of then (seed) and of \
                 OTP 25 stand beside those of weir.",
            );
        }
        out.push_str("</p>\n");
        for plot in &PLOTS {
            plot.draw(&averages, peers, &mut out);
        }
        out.push_str("<h2>Averages</h2>\n<pre>");
        escape(&self.to_table(), &mut out);
        out.push_str("</pre>\n");
        self.each(&mut out);
        out.push_str("</body></html>\n");
        out
    }

    /// Every message: size, and nanoseconds to encode and decode.
    fn each(&self, out: &mut String) {
        out.push_str("<h2>Each message</h2>\n<p>Octets; nanoseconds to encode/decode.</p>\n<table><tr><th>message</th><th>version</th>");
        for variant in VARIANTS {
            let _ = write!(out, "<th>{}</th>", variant.name);
        }
        out.push_str("</tr>\n");
        for message in self.messages() {
            out.push_str("<tr><td>");
            escape(&message.name, out);
            let _ = write!(out, "</td><td>{}</td>", message.version);
            for figure in &message.figures {
                match figure {
                    Ok(figure) => {
                        let _ = write!(
                            out,
                            "<td>{}; {:.0}/{:.0}</td>",
                            figure.size, figure.encode_ns, figure.decode_ns
                        );
                    }
                    Err(error) => {
                        out.push_str("<td title=\"");
                        escape(&error.to_string(), out);
                        out.push_str("\">-</td>");
                    }
                }
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</table>\n");
    }
}

impl Plot {
    fn draw(&self, averages: &[Average], peers: &[Peer], out: &mut String) {
        // Bars in groups, a group a variant: ours, Erlang's, the seed's.
        let groups: Vec<(&str, Vec<(&str, f64)>)> = averages
            .iter()
            .filter(|average| average.messages > 0)
            .map(|average| {
                let mut bars = vec![("weir", (self.ours)(average))];
                if let Some((seed, erlang)) = peer_of(peers, average).and_then(self.others) {
                    bars.extend([("erlang", erlang * 1000.0), ("seed", seed * 1000.0)]);
                }
                (average.variant.name, bars)
            })
            .collect();
        let bars = || groups.iter().flat_map(|(_, bars)| bars);
        let largest = bars().map(|(_, value)| *value).fold(1.0, f64::max);
        let rows: usize = groups.iter().map(|(_, bars)| bars.len() + 1).sum();
        let height = rows.saturating_mul(BAR).saturating_add(10);
        let _ = write!(
            out,
            "<h2>{} ({}{})</h2>\n<svg viewBox=\"0 0 860 {height}\" width=\"860\" role=\"img\" aria-label=\"{}\">\n",
            self.title,
            self.unit,
            if self.logarithmic {
                ", logarithmic"
            } else {
                ""
            },
            self.title
        );
        let mut y = 5_usize;
        for (name, bars) in &groups {
            let _ = writeln!(
                out,
                "<text x=\"{:.0}\" y=\"{}\" text-anchor=\"end\">{name}</text>",
                LEFT - 8.0,
                y + BAR - 3
            );
            for (class, value) in bars {
                let width = self.width(*value, largest);
                let label = match *class {
                    "weir" => String::new(),
                    "erlang" => " Erlang/OTP 25".to_owned(),
                    other => format!(" {other}"),
                };
                let _ = writeln!(
                    out,
                    "<rect class=\"{class}\" x=\"{LEFT}\" y=\"{y}\" width=\"{width:.1}\" height=\"{}\"/>\
                     <text x=\"{:.1}\" y=\"{}\">{value:.0}{label}</text>",
                    BAR - 2,
                    LEFT + width + 6.0,
                    y + BAR - 3
                );
                y = y.saturating_add(BAR);
            }
            y = y.saturating_add(BAR);
        }
        out.push_str("</svg>\n");
    }

    /// A logarithmic axis begins at 10.
    fn width(&self, value: f64, largest: f64) -> f64 {
        let share = if self.logarithmic {
            (value.max(10.0) / 10.0).log10() / (largest.max(100.0) / 10.0).log10()
        } else {
            value / largest
        };
        (share * WIDTH).max(1.0)
    }
}

fn escape(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            plain => out.push(plain),
        }
    }
}

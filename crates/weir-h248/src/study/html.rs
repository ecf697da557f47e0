//! A study as a page of its own: four plots and a table.

use weir_page::{Bar, Bars, Escaped, Page};

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

impl Study {
    /// The study as one self-contained HTML page: the plots of size, encode, decode and total time, the averages, and every
    /// message.
    #[must_use]
    pub fn to_html(&self) -> String {
        let averages = self.averages();
        let peers = self.peers(&averages);
        let title = "Megaco encodings compared";
        let mut page = Page::new(title, title);
        let from = match peers.is_empty() {
            true => "",
            false => {
                " These are the messages of Erlang/OTP's own measurement: its original figures (seed) and those \
                 of OTP 25 are shown next to those of weir."
            }
        };
        page.paragraph(&format!(
            "{} messages, averages over those that an encoding can carry.{from}",
            self.messages().len()
        ));
        for plot in &PLOTS {
            plot.draw(&averages, peers, &mut page);
        }
        page.heading("Averages");
        page.lines(&self.to_table());
        self.each(&mut page);
        page.finish()
    }

    /// Every message: size, and nanoseconds to encode and decode.
    fn each(&self, page: &mut Page) {
        page.heading("Each message");
        page.paragraph("Octets; nanoseconds to encode/decode.");
        page.put(format_args!("<table><tr><th>message<th>version"));
        for variant in VARIANTS {
            page.put(format_args!("<th>{}", Escaped(variant.name)));
        }
        page.put(format_args!("</tr>\n"));
        for message in self.messages() {
            page.put(format_args!(
                "<tr><td>{}<td>{}",
                Escaped(&message.name),
                message.version
            ));
            for figure in &message.figures {
                match figure {
                    Ok(figure) => page.put(format_args!(
                        "<td>{}; {:.0}/{:.0}",
                        figure.size, figure.encode_ns, figure.decode_ns
                    )),
                    Err(error) => page.put(format_args!(
                        "<td title=\"{}\">-",
                        Escaped(&error.to_string())
                    )),
                }
            }
            page.put(format_args!("</tr>\n"));
        }
        page.put(format_args!("</table>\n"));
    }
}

impl Plot {
    fn draw(&self, averages: &[Average], peers: &[Peer], page: &mut Page) {
        let is_logarithmic = if self.logarithmic {
            ", logarithmic"
        } else {
            ""
        };
        page.heading(&format!("{} ({}{is_logarithmic})", self.title, self.unit));
        // A group a variant: ours, Erlang's, the seed's.
        let group = |average: &Average| {
            let bar = |value, label, series| Bar {
                value,
                label,
                series,
            };
            let mut bars = vec![bar((self.ours)(average), "", 0)];
            if let Some((seed, erlang)) = peer_of(peers, average).and_then(self.others) {
                bars.push(bar(erlang * 1000.0, "Erlang/OTP 25", 1));
                bars.push(bar(seed * 1000.0, "seed", 2));
            }
            (average.variant.name, bars)
        };
        let carried = averages.iter().filter(|average| average.messages > 0);
        page.bars(&Bars {
            title: self.title,
            logarithmic_from: self.logarithmic.then_some(10.0),
            decimals: 0,
            groups: carried.map(group).collect(),
        });
    }
}

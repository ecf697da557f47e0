//! A page that grows from its head on.

use std::fmt::{Arguments, Write as _};

use crate::Escaped;

/// A page that grows from its head on. Texts that it is given are escaped.
#[derive(Debug)]
pub struct Page {
    html: String,
}

impl Page {
    /// A page with a title, which the browser shows, and a heading.
    #[must_use]
    pub fn new(title: &str, heading: &str) -> Self {
        Self::with_style(title, heading, "")
    }

    /// A page that adds rules of CSS to the style that all pages have.
    #[must_use]
    pub fn with_style(title: &str, heading: &str, style: &str) -> Self {
        let mut page = Self {
            html: String::with_capacity(64 << 10),
        };
        page.put(format_args!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <title>{}</title>\n<style>{STYLE}{style}</style></head><body>\n<h1>{}</h1>\n",
            Escaped(title),
            Escaped(heading)
        ));
        page
    }

    /// A heading within the page.
    pub fn heading(&mut self, text: &str) {
        self.put(format_args!("<h2>{}</h2>\n", Escaped(text)));
    }

    /// A heading within a part that has one.
    pub fn subheading(&mut self, text: &str) {
        self.put(format_args!("<h3>{}</h3>\n", Escaped(text)));
    }

    /// A paragraph.
    pub fn paragraph(&mut self, text: &str) {
        self.put(format_args!("<p>{}</p>\n", Escaped(text)));
    }

    /// A paragraph that a reader has to see: what damages the answer, or what to do.
    pub fn warning(&mut self, text: &str) {
        self.put(format_args!("<p class=\"warning\">{}</p>\n", Escaped(text)));
    }

    /// Appends preformatted lines in a monospaced font.
    pub fn lines(&mut self, text: &str) {
        self.put(format_args!("<pre>{}</pre>\n", Escaped(text)));
    }

    /// A table: the first column to the left, the others to the right. Without rows, nothing is written.
    pub fn table<R: AsRef<[String]>>(&mut self, headings: &[&str], rows: &[R]) {
        if rows.is_empty() {
            return;
        }
        self.put(format_args!("<table><tr>"));
        for heading in headings {
            self.put(format_args!("<th>{}", Escaped(heading)));
        }
        self.put(format_args!("</tr>\n"));
        for row in rows {
            self.put(format_args!("<tr>"));
            for cell in row.as_ref() {
                self.put(format_args!("<td>{}", Escaped(cell)));
            }
            self.put(format_args!("</tr>\n"));
        }
        self.put(format_args!("</table>\n"));
    }

    /// Appends HTML: the caller escapes all text in it.
    pub fn put(&mut self, html: Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = self.html.write_fmt(html);
    }

    /// The whole page.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.put(format_args!("</body></html>\n"));
        self.html
    }
}

/// Plots draw lines and letters in the colour of text, so that they follow dark and light.
const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:auto;padding:1rem;\
color:#222;background:#fff}table{border-collapse:collapse;display:block;overflow-x:auto}\
td,th{padding:.2rem .6rem;text-align:right;border-bottom:1px solid #8884}td:first-child,\
th:first-child{text-align:left}svg{max-width:100%;height:auto}svg.plot{width:100%;max-width:40rem}\
svg.plot text{font:12px system-ui,sans-serif;fill:currentColor}pre{background:#8882;padding:.6rem;overflow-x:auto;\
font-size:.85rem}.advice{font-weight:600}.warning{color:#a04000}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}.warning{color:#f0a060}}\
@media print{body{max-width:none}pre,svg,tr{break-inside:avoid}}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_one_file_that_runs_and_loads_nothing() {
        let mut page = Page::with_style("<t>", "<h>", ".x{}");
        page.heading("<2>");
        page.subheading("<3>");
        page.paragraph("<p>");
        page.warning("<w>");
        page.lines("<l>");
        page.table(&["<th>"], &[["<td>".to_owned()]]);
        page.table::<[String; 1]>(&["none"], &[]);
        let html = page.finish();
        for text in ["t", "h", "2", "3", "p", "w", "l", "th", "td"] {
            assert!(
                html.contains(&format!("&lt;{text}&gt;")),
                "{text} in {html}"
            );
        }
        assert!(!html.contains("none<"), "{html}");
        assert!(html.starts_with("<!doctype html>\n") && html.ends_with("</html>\n"));
        assert!(html.contains("default-src 'none'"));
        for what in ["<script", "src=", "href=", "@import", "url("] {
            assert!(!html.contains(what), "{what}");
        }
    }
}

//! Patterns: which files do `*`, `?`, `[...]` and `**` mean?
//!
//! Names of files are bytes, not text: one that is not UTF-8 is matched as any other, `?` and `*` standing for
//! each byte of it that is no character.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf, is_separator};

/// A pattern of names in folders.
pub(crate) struct Pattern {
    /// The path before the first folder with a wildcard.
    base: PathBuf,
    steps: Vec<PatternStep>,
}

/// The name of a folder, or of the file at the end.
enum PatternStep {
    /// `**`: any folders, or none.
    Folders,
    Literal(String),
    Name(Vec<PatternToken>),
}

#[derive(Clone, Debug)]
enum PatternToken {
    Unit(u32),
    Any,
    AnyUnit,
    /// Ranges, and whether they are those that do not match.
    Class(Vec<(u32, u32)>, bool),
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let first = text.find(WILD).unwrap_or(text.len());
        let head = text[..first].rfind(is_separator).map_or(0, |at| at + 1);
        let (base, rest) = text.split_at(head);
        let mut steps = Vec::new();
        let mut at = head;
        for name in rest.split(is_separator) {
            let wrong =
                |(offset, what): (usize, &str)| format!("{what} at character {}", at + offset + 1);
            match name {
                "" => {}
                "**" => steps.push(PatternStep::Folders),
                _ if !name.contains(WILD) => steps.push(PatternStep::Literal(name.to_owned())),
                _ => steps.push(PatternStep::Name(tokens(name).map_err(wrong)?)),
            }
            at += name.len() + 1;
        }
        Ok(Self {
            base: PathBuf::from(base),
            steps,
        })
    }

    /// All files that match, without folders, and without those of folders for which `enters` is false.
    ///
    /// # Errors
    /// When a folder on the way cannot be read.
    pub(crate) fn files(&self, enters: &dyn Fn(&Path) -> bool) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        walk(&self.base, &self.steps, &mut Vec::new(), &mut found, enters)?;
        found.sort();
        // `**/**` leads to a file on several ways.
        found.dedup();
        Ok(found)
    }
}

/// A name or part of a path with wildcards, for what is no folder of files: the keys of objects.
///
/// ```
/// let name = weir_capture::NamePattern::parse("day-[12]*.pcap")?;
/// assert!(name.matches("day-1a.pcap") && !name.matches("day-3.pcap"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug)]
pub struct NamePattern(Vec<PatternToken>);

impl NamePattern {
    /// Reads a pattern of one name, which has `*`, `?` and `[…]`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(name: &str) -> Result<Self, String> {
        let wrong = |(at, what): (usize, &str)| format!("{what} at character {}", at + 1);
        tokens(name).map(Self).map_err(wrong)
    }

    /// Whether a name is meant.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        matches(&self.0, &units(OsStr::new(name)))
    }

    /// Whether a text has wildcards at all.
    #[must_use]
    pub fn is_wild(text: &str) -> bool {
        text.contains(WILD)
    }
}

/// Adds what matches the steps below a folder. `above` has the folders that `**` led through.
fn walk(
    folder: &Path,
    steps: &[PatternStep],
    above: &mut Vec<PathBuf>,
    found: &mut Vec<PathBuf>,
    enters: &dyn Fn(&Path) -> bool,
) -> io::Result<()> {
    let Some((step, rest)) = steps.split_first() else {
        return Ok(());
    };
    match step {
        PatternStep::Literal(name) => take(folder.join(name), rest, above, found, enters),
        PatternStep::Name(tokens) => {
            for name in entries(folder)? {
                if matches(tokens, &units(&name)) {
                    take(folder.join(name), rest, above, found, enters)?;
                }
            }
            Ok(())
        }
        PatternStep::Folders => {
            // A link into a folder that is being walked would lead around for ever.
            let here = fs::canonicalize(if folder.as_os_str().is_empty() {
                Path::new(".")
            } else {
                folder
            });
            let Ok(here) = here else { return Ok(()) };
            if above.contains(&here) {
                return Ok(());
            }
            if !rest.is_empty() {
                walk(folder, rest, &mut Vec::new(), found, enters)?;
            }
            above.push(here);
            for name in entries(folder)? {
                let path = folder.join(name);
                if path.is_dir() {
                    if enters(&path) {
                        walk(&path, steps, above, found, enters)?;
                    }
                } else if rest.is_empty() {
                    found.push(path);
                }
            }
            above.pop();
            Ok(())
        }
    }
}

/// Adds the result of a name.
fn take(
    path: PathBuf,
    rest: &[PatternStep],
    above: &mut Vec<PathBuf>,
    found: &mut Vec<PathBuf>,
    enters: &dyn Fn(&Path) -> bool,
) -> io::Result<()> {
    match rest {
        [] => {
            // A link that leads nowhere counts as a file: reading it reports the error.
            if fs::symlink_metadata(&path).is_ok() && !path.is_dir() {
                found.push(path);
            }
            Ok(())
        }
        _ if path.is_dir() && enters(&path) => walk(&path, rest, above, found, enters),
        _ => Ok(()),
    }
}

/// The names in a folder; of anything else, no names.
fn entries(folder: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    fs::read_dir(folder)?
        .map(|entry| Ok(entry?.file_name()))
        .collect()
}

fn tokens(name: &str) -> Result<Vec<PatternToken>, (usize, &'static str)> {
    let characters: Vec<(usize, char)> = name.char_indices().collect();
    let mut tokens = Vec::new();
    let mut rest = characters.as_slice();
    while let Some((&(at, character), after)) = rest.split_first() {
        rest = after;
        match character {
            '?' => tokens.push(PatternToken::AnyUnit),
            '*' => {
                if let Some((_, '*')) = rest.first() {
                    return Err((at, "** matches folders, and must stand alone between two /"));
                }
                tokens.push(PatternToken::Any);
            }
            '[' => {
                let negated = matches!(rest.first(), Some((_, '!')));
                rest = rest.get(usize::from(negated)..).unwrap_or_default();
                // A bracket that stands first is one of the characters.
                let end = rest.iter().skip(1).position(|(_, end)| *end == ']');
                let Some(end) = end else {
                    return Err((at, "a [ without a closing ]"));
                };
                let (inside, after) = rest.split_at(end + 1);
                rest = after.get(1..).unwrap_or_default();
                tokens.push(PatternToken::Class(ranges(inside), negated));
            }
            character => tokens.push(PatternToken::Unit(character.into())),
        }
    }
    Ok(tokens)
}

fn ranges(mut inside: &[(usize, char)]) -> Vec<(u32, u32)> {
    let mut ranges = Vec::new();
    loop {
        match inside {
            [(_, low), (_, '-'), (_, high), rest @ ..] => {
                ranges.push((u32::from(*low), u32::from(*high)));
                inside = rest;
            }
            [(_, one), rest @ ..] => {
                ranges.push((u32::from(*one), u32::from(*one)));
                inside = rest;
            }
            [] => return ranges,
        }
    }
}

/// The characters of a name; each byte that is not part of one becomes a number beyond them.
fn units(name: &OsStr) -> Vec<u32> {
    let mut units = Vec::new();
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        units.extend(chunk.valid().chars().map(u32::from));
        units.extend(chunk.invalid().iter().map(|byte| BEYOND + u32::from(*byte)));
    }
    units
}

/// Whether a name is what the tokens say: in time that is the product of both lengths at most.
fn matches(tokens: &[PatternToken], units: &[u32]) -> bool {
    let (mut token, mut unit) = (0, 0);
    // The positions to continue at when the attempt after the last `*` does not match.
    let mut again: Option<(usize, usize)> = None;
    loop {
        let fits = match (tokens.get(token), units.get(unit)) {
            (None, None) => return true,
            (Some(PatternToken::Any), _) => {
                again = Some((token, unit));
                token += 1;
                continue;
            }
            (Some(PatternToken::Unit(wanted)), Some(found)) => wanted == found,
            (Some(PatternToken::AnyUnit), Some(_)) => true,
            (Some(PatternToken::Class(ranges, negated)), Some(found)) => {
                let within = |(low, high): &(u32, u32)| (*low..=*high).contains(found);
                ranges.iter().any(within) != *negated
            }
            _ => false,
        };
        if fits {
            (token, unit) = (token + 1, unit + 1);
        } else if let Some((star, taken)) = again
            && taken < units.len()
        {
            again = Some((star, taken + 1));
            (token, unit) = (star + 1, taken + 1);
        } else {
            return false;
        }
    }
}

/// The characters that make a path a pattern.
pub(crate) const WILD: [char; 3] = ['*', '?', '['];
/// Above the last character.
const BEYOND: u32 = 0x11_0000;

#[cfg(test)]
mod tests {
    use super::*;

    /// The plainest matcher there is.
    fn naive(tokens: &[PatternToken], units: &[u32]) -> bool {
        match (tokens.split_first(), units.split_first()) {
            (None, None) => true,
            (Some((PatternToken::Any, rest)), _) => {
                (0..=units.len()).any(|taken| naive(rest, &units[taken..]))
            }
            (Some((token, rest)), Some((unit, after))) => {
                matches(std::slice::from_ref(token), &[*unit]) && naive(rest, after)
            }
            _ => false,
        }
    }

    #[test]
    fn names_match_as_the_naive_matcher_says() {
        let mut state = 1_u32;
        let mut next = |bound: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % bound
        };
        let mut matched = 0;
        for _ in 0..50_000 {
            let pattern: String = (0..next(7))
                .map(|_| ["a", "b", "?", "*", "[ab]", "[!a]", "[a-c]"][next(7) as usize])
                .collect();
            let Ok(tokens) = tokens(&pattern) else {
                continue;
            };
            let units: Vec<u32> = (0..next(8)).map(|_| u32::from(b'a') + next(4)).collect();
            let expected = naive(&tokens, &units);
            assert_eq!(matches(&tokens, &units), expected, "{pattern} {units:?}");
            matched += usize::from(expected);
        }
        assert!(matched > 1_000);
    }
}

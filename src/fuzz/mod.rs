//! Whatever a parser is given, it reads it or refuses it: a fixed number of mutations of real input, the same at every
//! run. The parser of profiles has a fuzz of its own.
//!
//! A panic is a failure, an overflow included, and so is a figure that is no number.
#![allow(clippy::unwrap_used)]

mod files;
mod lines;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

/// Numbers at the edge of what fields take.
const NUMBERS: [&str; 18] = [
    "0",
    "-0",
    "-1",
    "1",
    "0.5",
    "255",
    "65536",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "1e300",
    "-1e300",
    "NaN",
    "inf",
    "-inf",
];

/// What lines and files are made of, and what they should not be.
const PIECES: [&str; 30] = [
    ",",
    ";",
    ":",
    "/",
    " ",
    "\n",
    "\r\n",
    "\t",
    "\"",
    "\"\"",
    "'",
    "{",
    "}",
    "[",
    "]",
    "null",
    "true",
    "-",
    "%s",
    "FFFFFFFF/FFFFFFFF",
    "blk ",
    ", blkref #",
    "rel ",
    " FPW",
    "progress: ",
    "standby_",
    "é",
    "🦀",
    "\0",
    "\u{feff}",
];

/// Makes the same mutations from the same seed.
struct Mutator {
    rng: StdRng,
}

impl Mutator {
    fn new(seed: u64) -> Self {
        Self { rng: StdRng::seed_from_u64(seed) }
    }

    fn any<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        of.choose(&mut self.rng).unwrap()
    }

    /// A number from 0 to below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.rng.random_range(0..end.max(1))
    }

    /// The text with one to three changes.
    fn mutate(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for _ in 0..=self.below(3) {
            text = match self.below(4) {
                0 | 1 => self.with_another_number(&text),
                _ => self.with_another_piece(&text),
            };
        }
        text
    }

    /// With one of its numbers replaced by one at the edge.
    fn with_another_number(&mut self, text: &str) -> String {
        let is_part = |c: char| c.is_ascii_digit();
        let starts: Vec<usize> = text
            .char_indices()
            .filter(|(at, c)| is_part(*c) && !text[..*at].ends_with(is_part))
            .map(|(at, _)| at)
            .collect();
        if starts.is_empty() {
            return text.to_owned();
        }
        let start = *self.any(&starts);
        let length = text[start..].find(|c: char| !is_part(c)).unwrap_or(text.len() - start);
        let number = self.any(&NUMBERS);
        format!("{}{number}{}", &text[..start], &text[start + length..])
    }

    /// With something cut out, put in, doubled or cut off.
    fn with_another_piece(&mut self, text: &str) -> String {
        let chars: Vec<char> = text.chars().collect();
        let start = self.below(chars.len() + 1);
        let end = (start + self.below(20)).min(chars.len());
        let of = |chars: &[char]| chars.iter().collect::<String>();
        let (before, cut, after) = (of(&chars[..start]), of(&chars[start..end]), of(&chars[end..]));
        match self.below(8) {
            0 | 1 => format!("{before}{after}"),
            2 | 3 => format!("{before}{}{cut}{after}", self.any(&PIECES)),
            4 | 5 => format!("{before}{cut}{cut}{after}"),
            6 => format!("{before}{}{after}", self.any(&PIECES)),
            _ => before,
        }
    }
}

#[test]
fn a_seed_makes_the_same_mutations_and_few_that_change_nothing() {
    let text = "progress: 1.0 s, 6.0 tps, lat 10.906 ms stddev 7.443, 0 failed, lag 0.156 ms";
    let made = |seed| {
        let mut mutator = Mutator::new(seed);
        (0..1_000).map(|_| mutator.mutate(text)).collect::<Vec<_>>()
    };
    assert_eq!(made(1), made(1));
    assert_ne!(made(1), made(2));
    assert!(made(1).iter().filter(|mutated| *mutated == text).count() < 50);
}

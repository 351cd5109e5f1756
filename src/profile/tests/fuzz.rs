//! Malformed input is refused, never a panic.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use crate::profile::{BUILTINS, Override, Profile};

/// What a mutation inserts: what TOML is made of, and values at the edge of what fields take.
const PIECES: &str = "\" ' [ ] { } = . , # é 🦀 - 0 -1 1e999 nan inf 99999999999999999999 0xffffffffffffffff true \
                      2026-10-20 [[standby]] \"primary\" \"9999999999999999h\" \"18446744073709551615TB\" \"\"\" \
                      ''' a.b.c=1 \"9e99TB\" \u{1b} \0 \u{feff}";

/// Keys of overrides, whole and broken.
const KEYS: &str = "standby standby. standby.standby standby.standby.memory standby.name primary primary.shm \
                    postgres.common.shared_buffers postgres.common. workload.scale update.fraction \
                    update.batches synchronous.standbys synchronous.count watch.deadline . .. fault.node é.é";

fn any<'a>(words: &'a str, rng: &mut StdRng) -> &'a str {
    let words: Vec<&str> = words.split(' ').collect();
    words.choose(rng).copied().unwrap_or_default()
}

fn mutate(text: &str, rng: &mut StdRng) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..rng.random_range(1..=4) {
        let start = rng.random_range(0..=chars.len());
        let end = (start + rng.random_range(0..12)).min(chars.len());
        let piece = any(PIECES, rng);
        match rng.random_range(0..4) {
            0 => drop(chars.drain(start..end)),
            1 => drop(chars.splice(start..end, piece.chars())),
            2 => chars.insert(start, '\n'),
            _ => {
                let copied = chars[start..end].to_vec();
                let to = rng.random_range(0..=chars.len());
                drop(chars.splice(to..to, copied));
            }
        }
    }
    chars.into_iter().collect()
}

/// Is the input a profile? One that is accepted has to read back from its own text; one that is refused says where.
fn accepted(text: &str, changes: &[Override]) -> bool {
    match Profile::parse("fuzz.toml", text, changes) {
        Ok(profile) => {
            let written = profile.to_toml().map_err(|error| error.to_string());
            let read =
                |text: String| Profile::parse("again.toml", &text, &[]).map_err(|error| error.to_string());
            assert_eq!(written.and_then(read).as_ref(), Ok(&profile), "{text}");
            true
        }
        Err(problems) => {
            let said = problems.to_string();
            let places = said.lines().all(|line| line.starts_with("fuzz.toml") || line.starts_with("--set "));
            assert!(places && !said.is_empty(), "{said}\nof\n{text}");
            assert!(!said.contains("no check found it"), "{said}\nof\n{text}");
            false
        }
    }
}

#[test]
fn two_thousand_mutated_profiles_and_overrides_are_read_or_refused() {
    let mut rng = StdRng::seed_from_u64(640);
    let mut sound = 0;
    for round in 0..2000 {
        let text = mutate(BUILTINS[round % BUILTINS.len()].text, &mut rng);
        let set = format!("{}={}", any(KEYS, &mut rng), any(PIECES, &mut rng));
        let changes: Vec<Override> =
            if round % 2 == 0 { Vec::new() } else { set.parse().into_iter().collect() };
        sound += usize::from(accepted(&text, &changes));
    }
    // Most of a text is comments, where a mutation does no harm. Were all accepted, or none, this would test nothing.
    assert!((200..1800).contains(&sound), "{sound} of 2000 were accepted");
}

#[test]
fn nesting_without_end_is_refused() {
    for piece in ["[", "{a=", "a."] {
        assert!(!accepted(&format!("a = {}", piece.repeat(100_000)), &[]));
        assert!(!accepted(&format!("{}a = 1", piece.repeat(100_000)), &[]));
        assert!(!accepted(&format!("[postgres.common]\n{}a = 1", piece.repeat(100_000)), &[]));
    }
}

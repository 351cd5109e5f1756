//! Which standby a record is about, where no profile says it.

use super::case::Case;
use super::window::Window;

/// Of servers that were only watched: the standby that did not stream for most of the longest gap, or, without a gap,
/// of the time that is judged. The first of equals, and the first where none was away.
pub(super) fn most_away<'a>(case: &Case<'a>) -> &'a str {
    let judged =
        Window { from_s: case.judged_from_s().unwrap_or_default(), to_s: case.end_s().unwrap_or_default() };
    let window = case.hang().map_or(judged, |hang| hang.window());
    case.run
        .standbys()
        .map(|node| (node.name.as_str(), away_s(case, &node.name, window)))
        .reduce(|most, other| if other.1 > most.1 { other } else { most })
        .map_or(case.run.faulted(), |(name, _)| name)
}

/// Seconds of the window in which this standby is known not to have streamed.
pub(super) fn away_s(case: &Case, node: &str, window: Window) -> f64 {
    let rows = &case.timeline.rows;
    rows.iter()
        .zip(rows.iter().skip(1))
        .map(|(before, row)| (row, row.t_s.min(window.to_s) - before.t_s.max(window.from_s)))
        .filter(|(row, inside)| *inside > 0.0 && case.streaming_of(node, row) == Some(false))
        .map(|(_, inside)| inside)
        .sum()
}

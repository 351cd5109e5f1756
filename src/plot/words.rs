//! The words within a panel's plot, placed so that they cover neither each other nor a mark.

use super::PlotError;
use super::panel::Place;
use super::pen::{Pen, Side, Type};
use super::scene::{Burst, Note, Panel, Scene, Span, Stroke, Told};
use super::style::{HEADING, Ink, LABEL, LEFT, PLOT_HEIGHT, RIGHT};
use super::text::Weight;

/// All words of a panel's plot. What is placed first stands best: levels, bursts, notes, spans.
pub fn draw(pen: &Pen<'_>, place: &Place, scene: &Scene, panel: &Panel) -> Result<(), PlotError> {
    level_words(pen, place, scene, panel)?;
    draw_bursts(pen, place, scene, &panel.bursts)?;
    for note in &panel.notes {
        draw_note(pen, place, note, panel.axis.top)?;
    }
    for (row, span) in panel.spans.iter().enumerate() {
        draw_span(pen, place, scene, span, row)?;
    }
    if panel.curves.is_empty() {
        let how = Type { size: HEADING, weight: Weight::Regular, side: Side::Middle, ink: Ink::Muted };
        let middle = ((LEFT + RIGHT) / 2.0, (place.top + place.bottom) / 2.0);
        pen.write_on_white("not recorded", middle, how)?;
    }
    Ok(())
}

/// The words above the levels: at the right end, where no mark is in the way, else at the left end.
fn level_words(pen: &Pen<'_>, place: &Place, scene: &Scene, panel: &Panel) -> Result<(), PlotError> {
    let marks = mark_pixels(place, scene);
    let mut taken = Vec::new();
    for level in panel.levels.iter().filter(|level| level.told == Told::AtTheLine) {
        let width = pen.fonts().width(&level.label, LABEL, Weight::Regular);
        let ends = [(RIGHT - 10.0 - width, RIGHT - 10.0), (LEFT + 10.0, LEFT + 10.0 + width)];
        let Some(words) = free_place(&ends, &taken, &marks) else {
            continue;
        };
        taken.push(words);
        let how = Type::label(Side::Right, level.ink);
        let y = place.y(level.at, panel.axis.top) - LABEL * 0.95;
        pen.write_on_white(&level.label, (words.0, y), how)?;
    }
    Ok(())
}

/// A dot, and the words above it on the side where there is more room.
fn draw_note(pen: &Pen<'_>, place: &Place, note: &Note, highest: f64) -> Result<(), PlotError> {
    let (x, y) = (place.x(note.at), place.y(note.value, highest));
    pen.dot((x, y), 4.5, Ink::Text)?;
    let (x, side) = if x < (LEFT + RIGHT) / 2.0 { (x + 12.0, Side::Right) } else { (x - 12.0, Side::Left) };
    let how = Type::label(side, Ink::Text);
    pen.write_on_white(&note.label, (x, y - LABEL * 0.9), how)
}

/// An arrow for each, and its words where they cover no others' and, if it can be, no mark.
fn draw_bursts(pen: &Pen<'_>, place: &Place, scene: &Scene, bursts: &[Burst]) -> Result<(), PlotError> {
    let marks = mark_pixels(place, scene);
    let mut taken: Vec<(f64, f64)> = Vec::new();
    for burst in bursts {
        let x = place.x(burst.at);
        pen.arrow_up((x, place.top + 2.0), 14.0, burst.ink)?;
        let width = pen.fonts().width(&burst.label, LABEL, Weight::Regular);
        let right = (x + 16.0, x + 16.0 + width);
        let left = (x - 16.0 - width, x - 16.0);
        let Some(words) = free_place(&[right, left], &taken, &marks) else {
            continue;
        };
        taken.push(words);
        let how = Type::label(Side::Right, burst.ink);
        pen.write_on_white(&burst.label, (words.0, place.top + 18.0), how)?;
    }
    Ok(())
}

/// A line from end to end; its words in it if they fit, else on the side where they cover no mark.
fn draw_span(pen: &Pen<'_>, place: &Place, scene: &Scene, span: &Span, row: usize) -> Result<(), PlotError> {
    let (left, right) = (place.x(span.from), place.x(span.to));
    let y = place.top + PLOT_HEIGHT * 0.42 + row as f64 * 34.0;
    pen.line((left, y), (right, y), 2.0, span.ink, Stroke::Solid)?;
    for end in [left, right] {
        pen.line((end, y - 7.0), (end, y + 7.0), 2.0, span.ink, Stroke::Solid)?;
    }
    let width = pen.fonts().width(&span.label, HEADING, Weight::Bold);
    let gap = 14.0;
    let behind = (right + gap, right + gap + width);
    let before = (left - gap - width, left - gap);
    let words = if width + 24.0 <= right - left {
        ((left + right - width) / 2.0, (left + right + width) / 2.0)
    } else {
        free_place(&[behind, before], &[], &mark_pixels(place, scene)).unwrap_or(behind)
    };
    let how = Type::heading(Side::Right, span.ink);
    pen.write_on_white(&span.label, (words.0, y), how)
}

fn mark_pixels(place: &Place, scene: &Scene) -> Vec<f64> {
    scene.marks.iter().map(|mark| place.x(mark.at)).collect()
}

/// The first of the places (left and right end of words) that is in the panel, covers no words, and covers no mark;
/// if there is none, the first that covers no words.
fn free_place(places: &[(f64, f64)], words: &[(f64, f64)], marks: &[f64]) -> Option<(f64, f64)> {
    let inside = |place: &&(f64, f64)| place.0 > LEFT && place.1 < RIGHT;
    let apart = |place: &&(f64, f64)| words.iter().all(|other| place.1 < other.0 || place.0 > other.1);
    let clear = |place: &&(f64, f64)| marks.iter().all(|mark| *mark < place.0 - 5.0 || *mark > place.1 + 5.0);
    let fitting: Vec<_> = places.iter().filter(inside).filter(apart).collect();
    fitting.iter().find(|place| clear(place)).or(fitting.first()).map(|place| **place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_where_they_cover_nothing_else_where_they_cover_only_a_mark() {
        let (right, left) = ((510.0, 700.0), (300.0, 490.0));
        let sides = [right, left];
        assert_eq!(free_place(&sides, &[], &[500.0]), Some(right));
        assert_eq!(free_place(&sides, &[], &[500.0, 520.0]), Some(left), "a mark in the way");
        assert_eq!(free_place(&sides, &[left], &[520.0]), Some(right), "words are worse than a mark");
        assert_eq!(free_place(&sides, &[left, right], &[]), None);
        assert_eq!(free_place(&[(RIGHT - 5.0, RIGHT + 50.0), left], &[], &[]), Some(left), "outside");
    }
}

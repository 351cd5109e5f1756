//! A picture as a value: what is drawn, before anything is drawn. All times are seconds from the origin.

use super::axis::ValueAxis;
use super::series::Series;
use super::style::Ink;
use super::time::TimeAxis;

/// A whole picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// What the picture shows and what came out.
    pub title: String,
    /// Lines under the title.
    pub subtitles: Vec<Words>,
    /// What the colours stand for, when all panels share them.
    pub legend: Vec<Words>,
    /// The axis of time.
    pub time: TimeAxis,
    /// The phases, in their order.
    pub phases: Vec<PhaseSpan>,
    /// The moments that matter.
    pub marks: Vec<Mark>,
    /// The time without commits that is shaded.
    pub hang: Option<(f64, f64)>,
    /// The panels, from the top.
    pub panels: Vec<Panel>,
    /// Where it comes from, and how to read it.
    pub footer: Vec<String>,
}

/// Words in a colour.
#[derive(Debug, Clone, PartialEq)]
pub struct Words {
    /// The words.
    pub text: String,
    /// Their colour.
    pub ink: Ink,
}

/// A phase of the experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseSpan {
    /// Its name.
    pub name: &'static str,
    /// When it begins.
    pub from: f64,
    /// When the next begins.
    pub to: f64,
}

/// A moment that matters.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// When.
    pub at: f64,
    /// What happened, and its time in words.
    pub label: String,
    /// How its line is drawn.
    pub stroke: Stroke,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// Without a gap.
    Solid,
    /// In dashes.
    Dashed,
}

/// One panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// What it shows, and the unit.
    pub title: String,
    /// The axis of its values.
    pub axis: ValueAxis,
    /// What is measured.
    pub curves: Vec<Curve>,
    /// What it is measured against.
    pub levels: Vec<Level>,
    /// Single values that are told.
    pub notes: Vec<Note>,
    /// Where a curve leaves the panel at the top.
    pub bursts: Vec<Burst>,
    /// Spans of time with words.
    pub spans: Vec<Span>,
}

/// A series in a panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Its entry in the panel's legend; none when the panel's title or the picture's legend says it.
    pub label: Option<String>,
    /// Its colour.
    pub ink: Ink,
    /// How its values are joined.
    pub shape: Shape,
    /// Its values.
    pub series: Series,
}

/// How the values of a curve are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Each holds since the one before: rates. With the range of the values it stands for.
    Steps,
    /// Each holds at its moment: gauges and totals.
    Line,
    /// As a line, and what is below it filled.
    Area,
}

/// A value to measure against, as a dashed line.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// The value.
    pub at: f64,
    /// What it is.
    pub label: String,
    /// Its colour.
    pub ink: Ink,
    /// Where its words stand.
    pub told: Told,
}

/// Where the words of a level stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// At the line, which then lies over the curves.
    AtTheLine,
    /// In the legend, for a line in the midst of curves.
    InTheLegend,
}

/// A value of a curve in words.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// When.
    pub at: f64,
    /// The value.
    pub value: f64,
    /// The words.
    pub label: String,
}

/// A part of a curve that is beyond the panel's top.
#[derive(Debug, Clone, PartialEq)]
pub struct Burst {
    /// When it is highest.
    pub at: f64,
    /// How high, in words.
    pub label: String,
    /// Its colour.
    pub ink: Ink,
}

/// A span of time with words: `|-- no commit for 82 s --|`.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// Its begin.
    pub from: f64,
    /// Its end.
    pub to: f64,
    /// The words.
    pub label: String,
    /// Their colour.
    pub ink: Ink,
}

//! A chart as a value.

use super::axis::LogAxis;
use crate::plot::axis::{Tick, ValueAxis};
use crate::plot::scene::Words;
use crate::plot::style::Ink;

/// A whole chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// Lines under the title.
    pub subtitles: Vec<Words>,
    /// The panels, from the top.
    pub panels: Vec<Panel>,
    /// The axis of all panels.
    pub axis: LogAxis,
    /// Where it comes from.
    pub footer: Vec<String>,
}

/// One panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// What it shows, and the unit.
    pub title: String,
    /// Height of its plot, pixels.
    pub height: f64,
    /// The end of its values.
    pub top: f64,
    /// Ticks of its values.
    pub ticks: Vec<Tick>,
    /// What is measured.
    pub curves: Vec<Curve>,
    /// A place to measure against, and what it is.
    pub mark: Option<(f64, String)>,
}

impl Panel {
    /// A panel of counts from zero up to the greatest value of its curves.
    pub fn of_counts(title: &str, height: f64, curves: Vec<Curve>) -> Self {
        let highest = curves.iter().flat_map(Curve::heights).fold(0.0, f64::max);
        let axis = ValueAxis::counts(highest);
        let unit = if axis.unit.is_empty() { String::new() } else { format!(", {}", axis.unit) };
        Self { title: format!("{title}{unit}"), height, top: axis.top, ticks: axis.ticks, curves, mark: None }
    }
}

/// What is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Its entry in the legend.
    pub label: String,
    /// Its colour.
    pub ink: Ink,
    /// Its shape.
    pub shape: Shape,
}

/// How values are drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Joined by straight lines.
    Line(Vec<(f64, f64)>),
    /// Joined, with a dot at each and a whisker from its least to its greatest value: `(x, least, value, greatest)`.
    Whiskers(Vec<(f64, f64, f64, f64)>),
}

impl Curve {
    fn heights(&self) -> Vec<f64> {
        match &self.shape {
            Shape::Line(points) => points.iter().map(|point| point.1).collect(),
            Shape::Whiskers(points) => points.iter().map(|point| point.3).collect(),
        }
    }
}

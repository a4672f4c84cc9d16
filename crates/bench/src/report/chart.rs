//! Pictures of figures, as SVG: bars from zero, and lines on logarithmic axes.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::table::short;

/// Colours that the colour-blind tell apart (Okabe and Ito, 2008).
const COLORS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(120, 120, 120),
];
const INK: RGBColor = RGBColor(40, 44, 52);
const GRID: RGBColor = RGBColor(222, 226, 230);
const WIDTH: i32 = 860;
const FONT: &str = "system-ui, sans-serif";

/// What drawing into memory gives; it cannot fail.
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;
type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Bars in groups, from zero to the right.
pub(super) struct Bars {
    /// What a bar's length is, with its unit.
    pub(super) quantity: String,
    /// What the bars of a group are.
    pub(super) series: Vec<String>,
    /// What [`Bar::limit`] is.
    pub(super) limit: Option<String>,
    /// A label and its bars, one a series, where there is one.
    pub(super) groups: Vec<(String, Vec<Option<Bar>>)>,
}

/// A bar.
#[derive(Clone, Copy)]
pub(super) struct Bar {
    /// Its length.
    pub(super) value: f64,
    /// Where a limit is drawn across it.
    pub(super) limit: Option<f64>,
}

/// Lines on two logarithmic axes.
pub(super) struct Lines {
    /// What is on the horizontal axis, with its unit.
    pub(super) across: String,
    /// What is on the vertical axis, with its unit.
    pub(super) up: String,
    /// The lines.
    pub(super) lines: Vec<Line>,
}

/// A line through points.
pub(super) struct Line {
    /// What it is.
    pub(super) name: String,
    /// Its points, above zero and from left to right.
    pub(super) points: Vec<(f64, f64)>,
    /// Whether it is a limit, drawn thin and without points, and not a measurement.
    pub(super) limit: bool,
}

impl Line {
    /// A measured line through points in any order.
    pub(super) fn measured(name: &str, points: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut points: Vec<_> = points.collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self {
            name: name.to_owned(),
            points,
            limit: false,
        }
    }

    /// A limit.
    pub(super) fn limit(name: &str, points: impl Iterator<Item = (f64, f64)>) -> Self {
        Self {
            limit: true,
            ..Self::measured(name, points)
        }
    }
}

impl Bars {
    const LEFT: i32 = 210;
    const RIGHT: i32 = 70;
    const TOP: i32 = 44;
    const BAR: i32 = 14;
    const GAP: i32 = 10;

    /// The picture.
    pub(super) fn svg(&self) -> String {
        let group = Self::BAR * self.series.len() as i32 + Self::GAP;
        let height = Self::TOP + group * self.groups.len() as i32 + 40;
        draw(height, |canvas| self.paint(canvas, group, height))
    }

    fn paint(&self, canvas: &Canvas<'_>, group: i32, height: i32) -> Drawn {
        let bars = self.groups.iter().flat_map(|(_, bars)| bars).flatten();
        let longest = bars.map(|bar| bar.value).fold(0.0, f64::max);
        let step = round_step(longest / 5.0);
        let room = f64::from(WIDTH - Self::LEFT - Self::RIGHT);
        let x = |value: f64| Self::LEFT + (value / longest.max(step) * room) as i32;
        let bottom = height - 40;
        let mut tick = 0.0;
        while tick <= longest * 1.001 {
            let line = vec![(x(tick), Self::TOP - 4), (x(tick), bottom)];
            canvas.draw(&PathElement::new(line, GRID))?;
            write(
                canvas,
                &short_tick(tick),
                (x(tick), bottom + 10),
                HPos::Center,
                INK,
            )?;
            tick += step;
        }
        let middle = Self::LEFT + room as i32 / 2;
        write(
            canvas,
            &self.quantity,
            (middle, bottom + 28),
            HPos::Center,
            INK,
        )?;
        self.legend(canvas)?;
        for (index, (label, bars)) in self.groups.iter().enumerate() {
            let top = Self::TOP + group * index as i32;
            let center = top + (group - Self::GAP) / 2;
            write(canvas, label, (Self::LEFT - 10, center), HPos::Right, INK)?;
            for (row, bar) in bars.iter().enumerate() {
                let (Some(bar), row_top) = (bar, top + Self::BAR * row as i32) else {
                    continue;
                };
                let ends = [(x(0.0), row_top), (x(bar.value), row_top + Self::BAR - 2)];
                canvas.draw(&Rectangle::new(ends, color(row).filled()))?;
                if let Some(limit) = bar.limit {
                    let line = vec![(x(limit), row_top - 1), (x(limit), row_top + Self::BAR - 1)];
                    canvas.draw(&PathElement::new(line, INK.stroke_width(2)))?;
                }
                let place = (x(bar.value) + 6, row_top + Self::BAR / 2 - 1);
                write(canvas, &short(bar.value), place, HPos::Left, INK)?;
            }
        }
        Ok(())
    }

    fn legend(&self, canvas: &Canvas<'_>) -> Drawn {
        let mut left = Self::LEFT;
        for (row, name) in self.series.iter().enumerate() {
            let square = [(left, 12), (left + 12, 24)];
            canvas.draw(&Rectangle::new(square, color(row).filled()))?;
            write(canvas, name, (left + 18, 18), HPos::Left, INK)?;
            left += 40 + 7 * name.chars().count() as i32;
        }
        if let Some(limit) = &self.limit {
            canvas.draw(&PathElement::new(
                vec![(left + 6, 11), (left + 6, 25)],
                INK.stroke_width(2),
            ))?;
            write(canvas, limit, (left + 18, 18), HPos::Left, INK)?;
        }
        Ok(())
    }
}

impl Lines {
    const HEIGHT: i32 = 420;

    /// The picture; nothing where no line has two points.
    pub(super) fn svg(&self) -> Option<String> {
        let long = self.lines.iter().any(|line| line.points.len() > 1);
        long.then(|| draw(Self::HEIGHT, |canvas| self.paint(canvas)))
    }

    fn paint(&self, canvas: &Canvas<'_>) -> Drawn {
        let points = || {
            self.lines
                .iter()
                .flat_map(|line| line.points.iter().copied())
        };
        let (left, right) = decades(points().map(|(x, _)| x));
        let (low, high) = decades(points().map(|(_, y)| y));
        let style = TextStyle::from((FONT, 13).into_font()).color(&INK);
        let mut chart = ChartBuilder::on(canvas)
            .margin(12)
            .margin_right(24)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d((left..right).log_scale(), (low..high).log_scale())?;
        chart
            .configure_mesh()
            .bold_line_style(GRID)
            .light_line_style(RGBColor(242, 244, 246))
            .axis_style(INK)
            .label_style(style.clone())
            .axis_desc_style(style.clone())
            .x_desc(&self.across)
            .y_desc(&self.up)
            .x_label_formatter(&|value| short_tick(*value))
            .y_label_formatter(&|value| short_tick(*value))
            .draw()?;
        for (index, line) in self.lines.iter().enumerate() {
            let color = color(index);
            let stroke = color.stroke_width(if line.limit { 1 } else { 2 });
            chart
                .draw_series(LineSeries::new(line.points.iter().copied(), stroke))?
                .label(&line.name)
                .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 18, y)], stroke));
            if !line.limit {
                let dots = line
                    .points
                    .iter()
                    .map(|point| Circle::new(*point, 4, color.filled()));
                chart.draw_series(dots)?;
            }
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.9))
            .border_style(GRID)
            .label_font(style)
            .draw()
    }
}

/// Paints on a white canvas of this height.
fn draw(height: i32, paint: impl FnOnce(&Canvas<'_>) -> Drawn) -> String {
    let mut svg = String::new();
    {
        let size = (WIDTH as u32, height as u32);
        let canvas = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let drawn = canvas.fill(&WHITE).and_then(|()| paint(&canvas));
        drawn
            .and_then(|()| canvas.present())
            .expect("drawing into memory");
    }
    svg
}

fn write(canvas: &Canvas<'_>, text: &str, at: (i32, i32), side: HPos, ink: RGBColor) -> Drawn {
    let style = TextStyle::from((FONT, 13).into_font()).color(&ink);
    let style = style.pos(Pos::new(side, VPos::Center));
    canvas.draw(&Text::new(text.to_owned(), at, style))
}

fn color(index: usize) -> RGBColor {
    COLORS[index % COLORS.len()]
}

/// The powers of ten around values, somewhat apart.
fn decades(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (least, most) = values.fold((f64::MAX, f64::MIN_POSITIVE), |(least, most), value| {
        (least.min(value), most.max(value))
    });
    let low = 10_f64.powf(least.log10().floor());
    let high = 10_f64.powf(most.log10().ceil());
    (low, if high > low { high } else { 10.0 * low })
}

/// 1, 2 or 5 times a power of ten, not below `value`.
fn round_step(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    steps
        .into_iter()
        .find(|step| *step >= value * 0.999)
        .unwrap_or(10.0 * power)
}

/// A number on an axis.
fn short_tick(value: f64) -> String {
    match value {
        value if value >= 1e9 => format!("{} G", value / 1e9),
        value if value >= 1e6 => format!("{} M", value / 1e6),
        value if value >= 1e4 => format!("{} k", value / 1e3),
        value => {
            let text = format!("{value:.4}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        for (value, step) in [
            (0.9, 1.0),
            (1.2, 2.0),
            (3.0, 5.0),
            (70.0, 100.0),
            (0.03, 0.05),
        ] {
            assert!((round_step(value) / step - 1.0).abs() < 1e-9, "{value}");
        }
    }

    #[test]
    fn axes_hold_their_values() {
        assert_eq!(decades([3.0, 400.0].into_iter()), (1.0, 1000.0));
        assert_eq!(decades([10.0].into_iter()), (10.0, 100.0));
        assert_eq!(
            [0.5, 10.0, 20e3, 1e6].map(short_tick),
            ["0.5", "10", "20 k", "1 M"]
        );
    }

    #[test]
    fn bars_are_as_long_as_their_values() {
        let bar = |value| {
            Some(Bar {
                value,
                limit: Some(value / 2.0),
            })
        };
        let bars = Bars {
            quantity: "ns".to_owned(),
            series: vec!["garble".to_owned()],
            limit: Some("AES alone".to_owned()),
            groups: vec![
                ("a".to_owned(), vec![bar(1.0)]),
                ("b".to_owned(), vec![bar(2.0)]),
            ],
        };
        let svg = bars.svg();
        let widths: Vec<i32> = svg
            .split("<rect ")
            .filter(|part| part.contains("fill=\"#0072B2\""))
            .filter_map(|part| {
                part.split("width=\"")
                    .nth(1)?
                    .split('"')
                    .next()?
                    .parse()
                    .ok()
            })
            .collect();
        // The legend's square, then the bars.
        assert_eq!(widths.len(), 3, "{svg}");
        assert!((widths[2] - 2 * widths[1]).abs() <= 1, "{widths:?}");
    }

    #[test]
    fn a_line_needs_two_points() {
        let lines = |points: &[(f64, f64)]| Lines {
            across: "x".to_owned(),
            up: "y".to_owned(),
            lines: vec![Line::measured("n", points.iter().copied())],
        };
        assert!(lines(&[(1.0, 1.0)]).svg().is_none());
        assert!(lines(&[(1.0, 1.0), (10.0, 20.0)]).svg().is_some());
    }
}

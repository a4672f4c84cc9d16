//! A plan for a person: tables, the choice, and why.

use std::fmt::Write as _;
use std::time::Duration;

use tacit::garble::Assumption;
use tacit::plan::Alternative;
use tacit::protocols::{Protocol, ThreatModel};
use tacit::session::OtExtension;

use super::PlanReport;
use super::commands::Commands;
use crate::report::shown_bytes;
use crate::shell;

impl PlanReport<'_> {
    pub(super) fn text(&self) -> String {
        let (args, choice) = (self.args, self.plan.choice());
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{} over {}: a round trip takes {} ms, and this machine adds {} ms\n\
             asked for: security against {} parties, and to assume {} at most\n",
            asked(&args.function, &args.choice.params),
            self.link,
            number(2e3 * self.link.one_way_delay().as_secs_f64()),
            number(self.overhead_ms),
            args.security,
            args.assumption,
        );
        self.table(&mut text);
        text.push_str(LEGEND);
        self.elsewhere(&mut text);
        let _ = writeln!(text, "\nThe choice: {}", self.named(choice));
        for reason in self.reasons() {
            let _ = writeln!(text, "  - {reason}");
        }
        self.commands(&mut text);
        text
    }

    /// Returns the alternative whose preparation is shown: one that is faster once prepared, or
    /// else the choice.
    fn shown(&self) -> &Alternative {
        self.plan.better().unwrap_or(self.plan.choice())
    }

    /// Writes every protocol and scheme, the fastest of each protocol first.
    fn table(&self, text: &mut String) {
        let mut rows: Vec<&Alternative> = self.plan.alternatives.iter().collect();
        rows.sort_by_key(|one| (one.protocol.name(), one.times.online));
        let stock = if self.looked { "  in stock" } else { "" };
        let names = rows.iter().map(|one| protocol(one).len());
        let width = names.max().unwrap_or(0).max("protocol".len());
        let _ = writeln!(
            text,
            "  {:>9}  {:>9}  {:>8}  {:>8}  {:>7}  {:>9}{stock}  {:<width$}  scheme",
            "online ms", "whole ms", "KB early", "KB late", "KB back", "prepared", "protocol"
        );
        for one in rows {
            let _ = write!(
                text,
                "  {:>9}  {:>9}  {:>8}  {:>8}  {:>7}  {:>9}",
                ms(one.times.online),
                ms(one.times.from_agreement),
                kilobytes(one.traffic.garbler_early_bytes),
                kilobytes(one.traffic.garbler_late_bytes),
                kilobytes(one.traffic.evaluator_bytes),
                match one.protocol {
                    protocol if protocol.is_from_nothing() => "—".to_owned(),
                    _ => shown_bytes(one.offline.evaluator_disk_bytes),
                },
            );
            if self.looked {
                let runs = one.runs_in_stock.map(|runs| runs.to_string());
                let _ = write!(text, "  {:>8}", runs.as_deref().unwrap_or("—"));
            }
            let _ = writeln!(text, "  {:<width$}  {}", protocol(one), scheme(one));
        }
    }

    fn named(&self, one: &Alternative) -> String {
        let time = &one.times;
        let under = if one.scheme.is_some() {
            "under"
        } else {
            "with"
        };
        format!(
            "{} {under} {}: {} ms online, {} with agreement and leases",
            protocol(one),
            scheme(one),
            ms(time.online),
            ms(time.from_agreement)
        )
    }

    /// Returns the reasons for the choice.
    pub(super) fn reasons(&self) -> Vec<String> {
        let (plan, choice) = (self.plan, self.plan.choice());
        let mut reasons = vec![format!(
            "{} is secure against {} parties, as asked; {}",
            choice.protocol.name(),
            choice.protocol.threat_model(),
            rests_on(choice, self.ot_extension)
        )];
        reasons.extend(self.why_gmw());
        if choice.protocol == Protocol::Batch {
            reasons.push(format!(
                "a run takes {} round trips; what it sends does not grow with the circuit",
                choice.online_round_trips
            ));
            reasons.push(format!(
                "{} runs are prepared and checked together, 4096 at most: the more, the fewer \
                 circuits a run",
                self.args.runs
            ));
        }
        let other = plan.fastest(|one| one.protocol != choice.protocol);
        if let Some(other) = other.filter(|_| choice.protocol != Protocol::Gmw) {
            let (faster, slower) = (choice.times.online, other.times.online);
            reasons.push(match faster <= slower {
                true if other.protocol == Protocol::Gmw => format!(
                    "gmw would take {} ms: it waits {} round trips for its layers",
                    ms(slower),
                    other.online_round_trips
                ),
                true => format!(
                    "{} would take {} ms online: {} KB after the evaluator's word instead of {}",
                    other.protocol.name(),
                    ms(slower),
                    kilobytes(other.traffic.garbler_late_bytes),
                    kilobytes(choice.traffic.garbler_late_bytes)
                ),
                false if other.protocol.is_from_nothing() => {
                    format!("{} would take {} ms", other.protocol.name(), ms(slower))
                }
                false => format!(
                    "{} would take {} ms online, once it is prepared",
                    other.protocol.name(),
                    ms(slower)
                ),
            });
        }
        reasons.extend(self.authenticated_from_stock());
        match plan.better() {
            Some(better) if self.looked => reasons.push(format!(
                "the stock is not enough for what would be faster: {}",
                self.named(better)
            )),
            _ => {}
        }
        reasons
    }

    /// Returns the reason for `gmw`, or what would let the plan consider it.
    fn why_gmw(&self) -> Option<String> {
        let (plan, choice) = (self.plan, self.plan.choice());
        if choice.protocol == Protocol::Gmw {
            let others = |one: &Alternative| one.protocol == Protocol::Direct;
            let garbled = plan.fastest(others)?;
            let stocked = match choice.runs_in_stock {
                Some(runs) => format!("crosses for {runs} runs are in stock; "),
                None => String::new(),
            };
            return Some(format!(
                "{stocked}it sends {} KB and waits {} round trips for its layers; {} would send {} \
                 KB and take {} ms",
                kilobytes(all_bytes(choice)),
                choice.online_round_trips,
                garbled.protocol.name(),
                kilobytes(all_bytes(garbled)),
                ms(garbled.times.online)
            ));
        }
        let considers = plan
            .alternatives
            .iter()
            .any(|one| one.protocol == Protocol::Gmw);
        let could = self.args.security == ThreatModel::SemiHonest
            && self.args.assumption == Assumption::IdealCipher
            && self.args.scheme.is_none()
            && self.ot_extension.is_none()
            && !choice.function.has_saved_values();
        (could && !considers).then(|| {
            "gmw is planned where both parties name how OTs are made: --ot-extension silent, which \
             rests on LPN, or softspoken-2"
                .to_owned()
        })
    }

    /// Writes the cost of `gmw` and `direct` over other links.
    fn elsewhere(&self, text: &mut String) {
        if self.plan.elsewhere.is_empty() {
            return;
        }
        let _ = writeln!(
            text,
            "\n  {:>9}  {:>9}  over other links",
            "gmw ms", "direct ms"
        );
        for times in &self.plan.elsewhere {
            let link = match times.link.one_way_delay() {
                Duration::ZERO => "loopback".to_owned(),
                _ => times.link.to_string(),
            };
            let _ = writeln!(
                text,
                "  {:>9}  {:>9}  {link}",
                ms(times.gmw),
                ms(times.direct)
            );
        }
    }

    /// Returns a hint about how `authenticated` can become cheaper than planned.
    fn authenticated_from_stock(&self) -> Option<String> {
        let mut all = self.plan.alternatives.iter();
        let planned = all.find(|one| one.protocol == Protocol::Authenticated)?;
        // A run of a chain makes all its material itself.
        if self.args.security != ThreatModel::Malicious || planned.function.has_saved_values() {
            return None;
        }
        let function = shell::function(&self.args.function, &self.args.choice);
        Some(format!(
            "authenticated is planned from nothing; instances or triples in stock make its runs \
             cheaper than that: `tacit prepare {} --protocol authenticated --runs {}`",
            shell::line(&function),
            self.args.runs
        ))
    }

    fn commands(&self, text: &mut String) {
        let shown = self.shown();
        if !shown.protocol.is_from_nothing() && !shown.can_run_now() {
            let offline = &shown.offline;
            let _ = writeln!(
                text,
                "\nTo prepare for {} runs, each party in its role; a run takes {} of the \
                 evaluator's disk, {} of the garbler's, and {} ms on one thread:\n",
                self.args.runs,
                shown_bytes(offline.evaluator_disk_bytes),
                shown_bytes(offline.garbler_disk_bytes),
                ms(offline.time)
            );
            for need in &shown.needs {
                let _ = writeln!(text, "  # a run takes {} × {}", need.count, need.name);
            }
            let commands = Commands::new(self, shown);
            for role in self.roles() {
                let _ = writeln!(text, "  {}", commands.prepare(role).unwrap_or_default());
            }
        }
        let mut runs = vec![(self.plan.choice(), "To run")];
        if let Some(better) = self.plan.better() {
            runs[0].1 = "To run now";
            runs.push((better, "To run once that is prepared"));
        }
        for (one, when) in runs {
            let _ = writeln!(text, "\n{when}, each input in a file of its name:\n");
            let commands = Commands::new(self, one);
            for role in self.roles() {
                let _ = writeln!(text, "  {}", commands.run(role));
            }
        }
        if let (Some(peer), None) = (&self.args.peer, self.role) {
            let _ = writeln!(
                text,
                "\nThis party's commands take --with {peer}, too; with --role or --as they are \
                 printed with it."
            );
        }
    }
}

const LEGEND: &str = "\n  online: from the evaluator's first byte to the result, function agreed \
                      and garbler's inputs known\n  whole: from nothing agreed, in an open \
                      session, the disk apart\n  early and late: from the garbler before and after \
                      the evaluator's word; back: from the evaluator\n  prepared: on the \
                      evaluator's disk for a run\n";

pub(super) fn asked(name: &str, params: &[(String, String)]) -> String {
    let params = params
        .iter()
        .map(|(name, value)| format!(" {name}={value}"));
    format!("{name}{}", params.collect::<String>())
}

/// Returns the protocol, and the source of its material if that could be in stock.
fn protocol(one: &Alternative) -> &'static str {
    match one.protocol {
        Protocol::Authenticated => "authenticated (from nothing)",
        Protocol::Gmw if one.takes_crosses() => "gmw (from stock)",
        protocol => protocol.name(),
    }
}

/// Returns the scheme or, for a protocol that garbles nothing, the OTs.
fn scheme(one: &Alternative) -> String {
    match (one.scheme, one.ot_extension) {
        (Some(scheme), _) => scheme.id.to_string(),
        (None, Some(extension)) => format!("OTs by {extension}"),
        (None, None) if one.takes_crosses() => "crosses in stock".to_owned(),
        (None, None) => "—".to_owned(),
    }
}

/// Returns the assumption of a run's security, if its parties name this OT extension.
fn rests_on(one: &Alternative, named: Option<OtExtension>) -> String {
    match one.scheme {
        Some(scheme) => format!(
            "{} rests on {} ({} bits)",
            scheme.id, scheme.assumption, scheme.security_bits
        ),
        None => {
            let lpn = match (one.ot_extension, named) {
                (Some(OtExtension::Silent), _) => ", and on LPN",
                (None, Some(OtExtension::Silent)) => ", and on LPN if its crosses are silent",
                _ => "",
            };
            format!(
                "it garbles nothing, and rests on {}{lpn}",
                Assumption::IdealCipher
            )
        }
    }
}

/// Returns the bytes of both parties.
fn all_bytes(one: &Alternative) -> u64 {
    let traffic = &one.traffic;
    traffic.garbler_early_bytes + traffic.garbler_late_bytes + traffic.evaluator_bytes
}

fn ms(time: Duration) -> String {
    number(1e3 * time.as_secs_f64())
}

fn kilobytes(bytes: u64) -> String {
    number(bytes as f64 / 1e3)
}

/// Returns a number with about three digits.
fn number(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

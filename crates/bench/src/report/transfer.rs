//! Oblivious transfer in the report.

use super::all;
use super::chart::{Bar, Bars};
use super::page::{Grid, Picture, Section, heads};
use crate::Record;
use crate::base_ot::BaseOtFigures;
use crate::ot::OtFigures;
use crate::table::short;

/// Base OTs, extensions and forms.
pub(super) fn section(records: &[Record]) -> Option<Section> {
    let extended = all::<OtFigures>(records);
    Section::new("Oblivious transfer")
        .text(
            "An evaluator's input bit costs a correlated OT. SoftSpoken trades bytes for work by \
             its k; the silent extension sends 0.75 bits and works more. Where bytes are \
             dear it wins, on a fast link SoftSpoken with a small k does. Unless it is told, a \
             session that knows its link picks the k by it; silent, which rests on LPN, it takes \
             only if told.",
        )
        .picture(picture(&extended))
        .grid(Grid::of(
            "Correlated OTs, one thread a party; the form's rate includes making; `tacit-bench ot`",
            &extended,
        ))
        .grid(Grid::of(
            "128 base OTs, from the start until both parties have them",
            &all::<BaseOtFigures>(records),
        ))
        .unless_empty()
}

fn picture(extended: &[&OtFigures]) -> Option<Picture> {
    let mut groups: Vec<(String, Vec<Option<Bar>>)> = Vec::new();
    let on_loopback = |of: &&&OtFigures| of.link == "loopback" && of.form.name() == "correlated";
    for of in extended.iter().filter(on_loopback) {
        let label = format!("{}, {} bits", of.extension, short(of.made_bits_per_ot));
        let bar = Bar {
            value: of.made_million_per_s,
            limit: None,
        };
        let series = usize::from(of.security == "malicious");
        match groups
            .iter_mut()
            .find(|(name, _)| name.starts_with(&format!("{},", of.extension)))
        {
            Some((_, bars)) => bars[series] = Some(bar),
            None => {
                let mut bars = vec![None, None];
                bars[series] = Some(bar);
                groups.push((label, bars));
            }
        }
    }
    (!groups.is_empty()).then(|| Picture {
        name: "transfer",
        caption:
            "Correlated OTs made in a second on loopback, one thread a party, and the bits that \
                  each sends. Longer is better."
                .to_owned(),
        svg: Bars {
            quantity: "million OTs a second".to_owned(),
            series: heads("semi-honest | malicious"),
            limit: None,
            groups,
        }
        .svg(),
    })
}

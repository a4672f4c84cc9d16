//! Advice for users: what to do about an error, in the library's terms.
//!
//! An error's text says what happened. Its [`Advice`] is a sentence in which each [`Remedy`] stands
//! as a value. The command names a remedy by its flags and subcommands, and Python by arguments.
//! [`Display`](fmt::Display) uses the library's own name, which is also what pages show.

mod network;
mod protocol;
mod stock;

use std::borrow::Cow;
use std::fmt;

use crate::Error;
use crate::protocols::Protocol;
use crate::session::DifferingParameter;

macro_rules! settings {
    ($($(#[$doc:meta])* $setting:ident $name:literal)*) => {
        /// A setting that both parties may have to give alike, or that one party may have to
        /// change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Setting { $($(#[$doc])* $setting,)* }

        impl Setting {
            /// Returns the library's name for the setting.
            pub fn name(self) -> &'static str {
                match self { $(Self::$setting => $name,)* }
            }
        }
    };
}
settings! {
    /// The values of a function's parameters.
    Params "parameters"
    /// Public inputs.
    Public "public values"
    /// The entry point of a program.
    Entry "entry"
    /// The owner of each input of a circuit file.
    Owners "owners"
    /// The recipients of each result of a circuit file.
    Recipients "recipients"
    /// Types of a circuit file's ports.
    Types "types"
    /// The order of a number's bits in a circuit file.
    BitOrder "bit order"
    /// The role or party of this side.
    Role "role"
    /// The garbling scheme.
    Scheme "scheme"
    /// The protocol.
    Protocol "protocol"
    /// The threat model.
    Security "threat model"
    /// The statistical security parameter.
    SecurityBits "statistical security"
    /// The kind of base OTs.
    BaseOt "kind of base OTs"
    /// The OT extension.
    OtExtension "OT extension"
    /// The number of circuits of an outsourced run.
    Copies "number of circuits"
    /// The number of runs to prepare.
    Runs "number of runs"
    /// The components to prepare.
    Components "components"
    /// The number of OTs to prepare.
    Ots "number of OTs"
    /// The number of AND gates to prepare.
    Ands "number of AND gates"
    /// The number of runs in a session.
    Repeat "number of runs"
    /// The largest number of keys of the peer in a matching.
    MostKeys "most keys of the peer"
    /// The chain of saved values.
    Chain "chain"
    /// The parties that may use a chain's values.
    Policy "policy"
    /// The permission to replace a kept value.
    Replace "leave to replace values"
    /// TCP without TLS.
    PlainTcp "plain TCP"
    /// The server that garbles.
    Generator "generator"
    /// The server that evaluates.
    Cloud "cloud"
}

/// A step that a user can take or a value that the user can give. Each front end has a name for it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Gives these settings.
    Settings(&'static [Setting]),
    /// Gives a setting this value.
    Set(Setting, String),
    /// Starts a new epoch with the peer, which drops everything that was prepared with it.
    NewEpoch,
    /// Removes the chain of saved values of this name, if the name is known.
    DropChain(Option<String>),
    /// Moves the chain of this name to another program.
    AdoptChain(String),
    /// Drops prepared material that cannot be used.
    DropStock,
    /// Finds and withdraws damaged material.
    CheckStock,
    /// Lists the prepared material.
    ListStock,
    /// Frees the space of used material.
    CompactStock,
    /// The largest size of a stock, in bytes.
    StockLimit,
    /// Prepares material ahead of runs.
    Prepare,
    /// Prepares checked executions of the function of this name for runs at this s.
    PrepareBatch(String, u8),
    /// Clears the count of unfinished tries.
    ClearTries,
    /// Makes an identity.
    MakeIdentity,
    /// Creates an invitation for a party to pair.
    Invite,
    /// Shows a function and its digest.
    Inspect,
    /// Lists the functions that a service offers to this party.
    ListOffers,
    /// The functions that a service offers.
    OfferedFunctions,
    /// The tables that a service holds for matchings, and the programs that join them.
    OfferedTables,
    /// The orders that a service keeps in stock.
    OfferedStock,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Settings(settings) => return f.write_str(&listed(settings, Setting::name)),
            Self::Set(setting, value) => return write!(f, "{} {value}", setting.name()),
            Self::NewEpoch => "a new epoch",
            Self::DropChain(_) => "`drop_chain`",
            Self::AdoptChain(_) => "`adopt`",
            Self::DropStock | Self::ListStock => "the list of what is in stock",
            Self::CheckStock => "a check of the stock",
            Self::CompactStock => "compacting the stock",
            Self::StockLimit => "the limit of the stock",
            Self::Prepare => "a preparation",
            Self::PrepareBatch(..) => "a preparation of a batch",
            Self::ClearTries => "`clear_tries`",
            Self::MakeIdentity => "a new identity",
            Self::Invite => "a new invitation",
            Self::Inspect => "the digest",
            Self::ListOffers => "its offers",
            Self::OfferedFunctions => "the functions that it offers",
            Self::OfferedTables => "the tables that it holds and the programs that join them",
            Self::OfferedStock => "what it keeps in stock",
        })
    }
}

/// Joins the names of settings for use in a sentence.
pub fn listed(settings: &[Setting], name: impl Fn(Setting) -> &'static str) -> String {
    let names: Vec<_> = settings.iter().map(|setting| name(*setting)).collect();
    match &names[..] {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A part of an [`Advice`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Words(Cow<'static, str>),
    Remedy(Remedy),
}

/// A sentence that says what to do about an error. It is empty if there is nothing to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advice(pub(crate) Vec<Part>);

impl Advice {
    /// Returns the advice for an error of the stock.
    pub fn of_stock(error: &tacit_stock::StockError) -> Self {
        stock::advice(error)
    }

    /// Whether there is no advice.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the remedies, in the order in which the sentence names them.
    pub fn remedies(&self) -> impl Iterator<Item = &Remedy> {
        self.0.iter().filter_map(|part| match part {
            Part::Words(_) => None,
            Part::Remedy(remedy) => Some(remedy),
        })
    }

    /// Returns the sentence, with each remedy replaced by what `name` returns for it.
    pub fn in_words(&self, name: impl Fn(&Remedy) -> String) -> String {
        let parts = self.0.iter().map(|part| match part {
            Part::Words(words) => words.clone(),
            Part::Remedy(remedy) => name(remedy).into(),
        });
        parts.collect()
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_words(Remedy::to_string))
    }
}

/// Builds an [`Advice`]: words are literals, remedies stand in parentheses, settings in brackets
/// and texts in braces.
macro_rules! advice {
    (@part $words:literal) => { Part::Words($words.into()) };
    (@part {$text:expr}) => { Part::Words($text.into()) };
    (@part ($remedy:expr)) => { Part::Remedy($remedy) };
    (@part [$($setting:ident),+]) => { Part::Remedy(Remedy::Settings(&[$(Setting::$setting),+])) };
    (= $advice:expr) => { $advice };
    ($($part:tt)*) => {{
        #[allow(unused_imports)]
        use $crate::advice::{Advice, Part, Remedy, Remedy::*, Setting};
        Advice(vec![$($crate::advice::advice!(@part $part)),*])
    }};
}
pub(crate) use advice;

/// Selects the [`advice`] for each case of an error. After `=` stands an expression that returns
/// it.
macro_rules! advices {
    ($error:expr; $($case:pat => ($($part:tt)*)),* $(,)?) => {
        match $error { $($case => $crate::advice::advice!($($part)*),)* }
    };
}
use advices;

/// Returns the advice for two parties that have different functions.
fn same_function() -> Advice {
    advice!(
        "if it is a file, compare the two: they probably differ. Otherwise give both the same "
        "function, " [Params, Public, Entry, Owners, Recipients, Types, BitOrder]
        ", and compare " (Inspect)
        " at both: of a program names and the order of variants count, too"
    )
}

/// Returns the advice for two parties that gave these parameters different values.
fn same_parameters(differing: &[DifferingParameter]) -> Advice {
    let mut advice = advice!("give both the same ");
    for (number, parameter) in differing.iter().enumerate() {
        let more = advice!({ if number == 0 { "" } else { ", " } }(Set(
            Setting::Params,
            parameter.name.clone()
        )));
        advice.0.extend(more.0);
    }
    advice
}

impl Error {
    /// Returns the remedy for the error. [`in_words`](Advice::in_words) puts it in the words of a
    /// front end.
    pub fn advice(&self) -> Advice {
        advices! { self;
            Self::Protocol(error) => (= protocol::advice(error)),
            Self::Network(error) => (= network::advice(error)),
            Self::Stock(error) => (= stock::advice(error)),
            Self::OfParty { error, .. } => (= protocol::advice_of_three(error)),
            Self::Material { advice, .. } | Self::ChainsDiffer { advice, .. } => (= advice.clone()),
            Self::StockDestroyed { left: None, .. } => ("have the peer drop its half with "
                (NewEpoch) ", and prepare with it again only if you know why it failed"),
            Self::StockDestroyed { left: Some(_), .. } => ("before anything else drop what is "
                "left here with " (NewEpoch) ", have the peer do the same, and prepare with it "
                "again only if you know why it failed"),
            Self::OtherFunction { differing, .. } => (= match &differing[..] {
                [] => same_function(),
                differing => same_parameters(differing),
            }),
            Self::JoinsNot { .. } => ("give both parties "
                (Set(Setting::Protocol, "gmw".to_owned()))),
            Self::OtherSize { .. } => ("give both parties the same " [Params] ", or none"),
            Self::TooManyPeerKeys { found, .. } => ("if the peer may bring as many, give "
                (Set(Setting::MostKeys, found.to_string()))),
            Self::SessionOver { .. } => ("give both sides the same " [Repeat] ", or open a new "
                "session for more"),
            Self::NothingChecked { function, statistical_security_bits: bits } => ("both parties "
                "prepare some with " (PrepareBatch(function.clone(), *bits))),
            Self::StockLacks { .. } => ("both prepare some with " (Prepare) ", or let the run "
                "make what is missing"),
            Self::TooManyTries { .. } => ("find out why they did not end, and then clear the "
                "count with " (ClearTries)),
            Self::ExecutionTooLarge { enough: Some(count), .. } => ("prepare more of them "
                "together, which takes fewer circuits for each: "
                (Set(Setting::Runs, count.to_string())) " at both parties is enough"),
            Self::ExecutionTooLarge { enough: None, .. } => ("no larger batch makes it small "
                "enough: cut the function into smaller ones, and run these one after the other"),
            Self::SchemeNotFor { protocol: Protocol::Batch, .. } => ("choose half-gates or "
                "three-halves at both parties"),
            Self::SchemeNotFor { protocol: Protocol::Outsourced, .. } => ("choose half-gates with "
                "either hash at all three parties"),
            Self::SchemeNotFor { .. } => ("choose half-gates with either hash at both parties"),
            Self::ChainBaseOt { .. } => ("leave out " [BaseOt] " at both, or begin another chain "
                "with it"),
            Self::ChainElsewhere { home: Some(_), .. } => ("the peer is sent there if this party "
                "names the address of that process"),
            Self::ChainElsewhere { home: None, .. } => ("name the processes of this party that "
                "keep chains"),
            Self::OtherProgram { chain } => ("run the program that began the chain, with the "
                "same " [Params] ", or move the chain to this one: " (AdoptChain(chain.clone()))
                " at both that keep it"),
            Self::Replaces { .. } => ("if that is meant, both that keep it give " [Replace] ", "
                "or replace = true for a function of a service"),
            Self::NoProtocol { .. } => ("ask for one of these, if your peer can be relied on for "
                "it, and do not run otherwise"),
            Self::Input(_) | Self::Circuit(_) | Self::Function(_) | Self::Library(_) => (),
            Self::Randomness(_) | Self::ApiMisuse(_) => (),
        }
    }

    /// Returns the error's text followed by its advice, in the library's own names.
    pub fn with_advice(&self) -> String {
        let advice = self.advice();
        let separator = if advice.is_empty() { "" } else { "; " };
        format!("{self}{separator}{advice}")
    }
}

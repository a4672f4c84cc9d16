//! The orders of one session, which share the sources of OTs.

use std::time::Duration;

use super::rewritten;
use tacit::session::OtExtension;
use tacit::stock::Preparation;
use tacit::{Error, Role};
use tacit_net::Transport;
use tacit_protocol::message::Kind;
use tacit_testkit::sessions::{self, Folders, Trace, noting, over_link};
use tacit_testkit::tamper::Rewrite;

/// Makes two orders of a session that make OTs, with growing numbers of blocks.
fn two_orders(
    folders: &Folders,
    role: Role,
    transport: Transport,
    extension: OtExtension,
) -> Result<(), Error> {
    let stocks = folders.stocks(role)?;
    let mut session = sessions::session(transport, role, Duration::from_secs(30))?;
    session.set_ot_extension(extension)?;
    for blocks in [1, 2] {
        let order = Preparation::new(role).ots(128 * blocks);
        order.run(&mut session, &stocks)?;
    }
    Ok(())
}

/// A session makes base OTs once. It keeps no source of silent OTs between two orders, because its
/// large memory would not be counted there.
#[test]
fn orders_of_a_session_share_base_ots_but_for_silent_ones() {
    for (extension, times) in [(OtExtension::default(), 1), (OtExtension::Silent, 2)] {
        let (folders, trace) = (Folders::empty(), Trace::default());
        let ends = over_link(rewritten(|| noting(&trace)), |role, transport| {
            two_orders(&folders, role, transport, extension)
        });
        for end in ends {
            end.expect("two orders");
        }
        let trace = trace.lock().expect("no panic");
        let offers = trace
            .iter()
            .filter(|(kind, _)| *kind == Kind::BaseOtOffer.byte());
        assert_eq!(offers.count(), times, "{extension}");
    }
}

/// A guess at bits of Δ ends the epoch even if the OTs are those of an earlier order.
#[test]
fn a_lie_in_a_later_ot_extension_of_a_session_ends_the_epoch() {
    let folders = Folders::empty();
    let lie = || -> Rewrite {
        let mut before = 0;
        Box::new(move |_, kind, payload| {
            before += usize::from(kind == Kind::CotExtension.byte());
            (kind == Kind::CotExtension.byte() && before == 2).then(|| {
                let mut lie = payload.to_vec();
                let at = lie.len() / 2;
                lie[at] ^= 1;
                lie
            })
        })
    };
    let [result, _] = over_link(rewritten(lie), |role, transport| {
        two_orders(&folders, role, transport, OtExtension::default())
    });
    let error = result.expect_err("a check that fails");
    assert!(matches!(error, Error::StockDestroyed { .. }), "{error}");
    let stocks = folders.stocks(Role::Garbler).expect("a folder");
    assert!(stocks.list().expect("a folder").is_empty());
}

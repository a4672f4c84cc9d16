//! `authenticated` dropped at each of its awaits: no freed memory contains a party's Δ or seed.

use std::collections::BTreeMap;
use std::task::Poll;

use tacit_circuit::Port;
use tacit_components::library;
use tacit_function::{Function, Recipient, Role};
use tacit_garble::SchemeId;
use tacit_kernels::leftovers::{Watching, watch};
use tacit_kernels::{Block, Construction, Prg};
use tacit_ot::source::Extension;
use tacit_protocol::Error;
use tacit_protocol::authenticated::{
    Epoch, EpochSetup, EpochTags, InstanceOrder, SecurityBits, Terms, TripleOrder,
};
use tacit_protocol::io::memory::{run_both, run_two};
use tacit_protocol::io::{Io, Wire, complete};
use tacit_protocol::message::Kind;
use tacit_protocol::party::OnlyPeer;
use tacit_protocol::session::{Hello, Proposal, ProtocolId, SessionTag};
use tacit_protocol::setup::OtSettings;
use zeroize::Zeroizing;

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// Seeds of the parties. No other data contains their bytes.
const SEEDS: [[u8; 32]; 2] = [[201; 32], [202; 32]];

/// A wire over which a party receives what it received in an honest run, up to its await number
/// `awaits`, at which it waits for ever.
struct Cut<'m> {
    heard: std::slice::Iter<'m, Vec<u8>>,
    awaits: usize,
}

impl Cut<'_> {
    fn wait(&mut self) -> bool {
        let is_over = self.awaits == 0;
        self.awaits = self.awaits.saturating_sub(1);
        is_over
    }
}

impl Wire for Cut<'_> {
    fn send(&mut self, _: OnlyPeer, _: Kind, _: &[u8]) -> Result<(), Error> {
        Ok(())
    }

    fn poll_message(&mut self, _: OnlyPeer) -> Poll<()> {
        if self.wait() {
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    fn receive(&mut self, _: OnlyPeer, _: Kind, _: usize) -> Result<&[u8], Error> {
        Ok(self.heard.next().expect("a message of the honest run"))
    }

    fn poll_breathe(&mut self) -> Poll<Result<(), Error>> {
        if self.wait() {
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }
}

/// Returns both parties' halves of an epoch, and their Δ.
fn epochs() -> ([Epoch; 2], [Block; 2]) {
    let (settings, session) = (OtSettings::default(), session());
    let tag = |sender| {
        let (base, extension) = (settings.base, Extension::default());
        session.authenticated_setup(Role::Garbler, sender, base, extension)
    };
    let tags = EpochTags {
        garbler: tag(Role::Garbler),
        evaluator: tag(Role::Evaluator),
    };
    let prgs = [1, 2].map(|number| Prg::new(Block::from_u128(number)));
    let mut own = Role::BOTH.into_iter();
    let setups = prgs.map(|mut prg| {
        let role = own.next().expect("two");
        EpochSetup::new(role, settings, tags, &mut prg).expect("a setup")
    });
    let [a, b] = setups;
    let epochs = run_both(
        async |io| a.run(io).await?.epoch(),
        async |io| b.run(io).await?.epoch(),
    );
    // Δ is the first block that a setup draws, except for two bits.
    let deltas = [(1, 0b11), (2, 0b01)].map(|(number, bits)| {
        let drawn = Prg::new(Block::from_u128(number)).next_block().to_u128();
        Block::from_u128(drawn & !0b11 | bits)
    });
    (epochs.expect("both are honest").into(), deltas)
}

fn session() -> SessionTag {
    let [a, b] = [1, 2].map(|byte| Hello::of([byte; 32]));
    SessionTag::new(&[3; 32], (&[4; 32], &a), (&[5; 32], &b))
}

/// Clears what setups left on the stack below: a future that has not been started is moved together
/// with it.
#[inline(never)]
fn clear_stack() {
    std::hint::black_box(&mut [0_u8; 1 << 18]);
}

/// Runs `script` as each party up to each of its awaits and drops it there. Neither its frame nor
/// any other freed memory may contain the party's Δ or its seed.
fn leaves_nothing<S>(script: S)
where
    S: AsyncFn(&mut Io<'_>, Epoch, &Zeroizing<[u8; 32]>) -> Result<(), Error>,
{
    let ([a, b], deltas) = epochs();
    let seeds = SEEDS.map(Zeroizing::new);
    let mut heard = [Vec::new(), Vec::new()];
    let ended = run_two(
        async |io| script(io, a, &seeds[0]).await,
        async |io| script(io, b, &seeds[1]).await,
        &mut |from, _, _, (_, payload)| {
            heard[1 - from].push(payload.clone());
            Ok(())
        },
    );
    assert_eq!(ended.results, (Ok(()), Ok(())));
    for own in [0, 1] {
        for awaits in 0.. {
            let epoch = epochs().0.into_iter().nth(own).expect("two");
            let mut wire = Cut {
                heard: heard[own].iter(),
                awaits,
            };
            clear_stack();
            let (ended, memory) = watch(|| {
                let io = &mut Io::new(&mut wire);
                complete(Box::pin(script(io, epoch, &seeds[own])))
            });
            let delta = deltas[own];
            // Wires carry constants and negations in this form, too.
            for secret in [delta, delta ^ Block::from_u128(1)] {
                let found = memory.freed(&secret.to_bytes());
                assert_eq!(found, 0, "Δ after {awaits} awaits of party {own}");
            }
            assert_eq!(memory.freed(&SEEDS[own]), 0, "the seed after {awaits}");
            match ended {
                Ok(()) => break,
                Err(error) => assert!(matches!(error, Error::ApiMisuse(_)), "{error}"),
            }
        }
    }
}

fn adder() -> Function {
    let circuit = library::find("adder", &BTreeMap::from([("bits".to_owned(), 4)]));
    let circuit = circuit.expect("the library has it");
    let first = circuit.inputs()[0].name.clone();
    let owner = |port: &Port| {
        if port.name == first {
            Role::Garbler
        } else {
            Role::Evaluator
        }
    };
    let function = Function::of_circuit("adder", circuit, owner, |_| Recipient::Both);
    function.expect("a function")
}

fn security() -> SecurityBits {
    SecurityBits::insecure_for_measurements(4).expect("in bounds")
}

#[test]
fn a_run_from_nothing_leaves_no_offset_wherever_it_is_dropped() {
    let function = adder();
    let terms = Terms {
        function: &function,
        tag: session().run(&Proposal {
            statistical_security_bits: 4,
            ..Proposal::first(
                ProtocolId::Authenticated,
                SchemeId::HALF_GATES_TWO_CALL,
                function.digest(),
            )
        }),
        security: security(),
        construction: Construction::TwoCall,
    };
    leaves_nothing(async |io: &mut Io<'_>, epoch, seed: &_| {
        terms.run(io, &[true; 4], epoch, seed).await.map(drop)
    });
}

#[test]
fn what_is_made_for_a_stock_leaves_no_offset_wherever_it_is_dropped() {
    let security = security();
    let order = TripleOrder {
        blocks: 1,
        security,
    };
    leaves_nothing(async |io: &mut Io<'_>, epoch, seed: &_| {
        order.make(io, epoch, |_, _| Ok(()), seed).await
    });
    let function = adder();
    let order = InstanceOrder {
        components: &[(&function.components()[0], 2)],
        security,
        construction: Construction::TwoCall,
        ordered_at: security,
    };
    leaves_nothing(async |io: &mut Io<'_>, epoch, seed: &_| {
        order.make(io, epoch, |_, _| Ok(()), seed).await
    });
}

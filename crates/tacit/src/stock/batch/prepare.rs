//! The preparation of a batch: one lot, which is in stock once both parties have ended well.

use rand_core::UnwrapErr;
use sha2::{Digest as _, Sha256};
use tacit_circuit::Digest;
use tacit_function::{Function, Role};
use tacit_garble::{Scheme, SchemeId};
use tacit_kernels::Block;
use tacit_ot::Security;
use tacit_protocol::batch::plan::MAX_EXECUTIONS;
use tacit_protocol::batch::{
    Batch, Circuits, EvaluatorExecution, GarblerExecution, Plan, held_bits,
};
use tacit_protocol::session::{ProtocolId, RunTag};
use tacit_stock::{LotWriter, Span, Tried};

use super::{NAME_BYTES, header, instance_size, kind_of, kinds_in_stock, name_of};
use crate::driver::{run_script, seed};
use crate::order::{Garbled, Order, Secured};
use crate::protocols::Protocol;
use crate::scheme::{BlockVisitor, default_scheme, with_block_scheme};
use crate::session::{OrderTerms, OtNeed};
use crate::stock::failure::StockFailure;
use crate::stock::order::{StockOrder, Stocked};
use crate::stock::tries::{self, CountedTry, TryName};
use crate::stock::{OpenedStock, PreparedKind};
use crate::{Error, Session};

/// An order for checked executions of one function. Both parties give the same order, each in its
/// role.
///
/// The order counts what is in stock, and makes what is missing as one batch. The larger the batch,
/// the less an execution costs. The batch is in stock only once both parties have checked all of
/// it.
///
/// ```no_run
/// # use tacit::stock::{BatchPreparation, Stocks};
/// # use tacit::{Error, Function, Role, Session};
/// # fn prepare(session: &mut Session, stocks: &Stocks, function: &Function) -> Result<(), Error> {
/// let order = BatchPreparation::new(Role::Garbler, function, 128);
/// println!("{}", order.plan()?);
/// let prepared = order.run(session, stocks)?;
/// println!("{} executions", prepared.available());
/// # Ok(())
/// # }
/// ```
///
/// A cheating garbler succeeds with probability at most two to minus s over the whole batch. The
/// scheme must be half-gates or three-halves.
pub type BatchPreparation<'w> = Order<'w, Executions<'w>>;

/// The checked executions that the stock is to have. [`BatchPreparation`] orders them.
pub struct Executions<'f> {
    role: Role,
    function: &'f Function,
    count: u64,
}

impl Garbled for Executions<'_> {
    fn default_scheme(&self) -> SchemeId {
        default_scheme(self.function)
    }
}

impl Secured for Executions<'_> {}

impl<'w> BatchPreparation<'w> {
    /// Orders `count` executions of `function`, for a party in this role.
    pub fn new(role: Role, function: &'w Function, count: u64) -> Self {
        Self::of(Executions {
            role,
            function,
            count,
        })
    }

    /// Creates the largest possible order. If it is refused, no batch of the function is possible.
    pub fn largest(role: Role, function: &'w Function) -> Self {
        Self::new(role, function, MAX_EXECUTIONS)
    }

    /// Returns the bits of statistical security of runs with these executions: s, or fewer where an
    /// evaluator has better ways to cheat than s bounds.
    pub fn held_bits(&self) -> u8 {
        held_bits(self.security.bits(), self.task.function)
    }

    /// Returns the plan of the whole order, with its number of circuits, for an empty stock.
    /// Everything that `batch` cannot do shows here, before anything is sent.
    ///
    /// # Errors
    ///
    /// The function has saved values or is too large, `batch` does not support the scheme, or s or
    /// the number of executions is out of bounds.
    pub fn plan(&self) -> Result<Plan, Error> {
        self.planned().map(|(plan, _)| plan)
    }

    /// Returns the bytes that the whole order takes at the evaluator, which keeps the tables.
    ///
    /// # Errors
    ///
    /// Those of [`plan`](Self::plan).
    pub fn table_bytes(&self) -> Result<u64, Error> {
        let (_, needs) = self.planned()?;
        Ok(needs.execution_bytes.saturating_mul(self.task.count))
    }

    /// Returns the AND gates of all its circuits, for an empty stock. An order that
    /// [`plan`](Self::plan) refuses has none.
    pub fn and_gates(&self) -> u64 {
        let circuits = self.plan().map_or(0, |plan| plan.cut().circuits);
        self.task.function.and_gates().saturating_mul(circuits)
    }

    /// Returns the bytes that the whole order takes on this party's disk: the evaluator keeps the
    /// tables, and the rest is small.
    pub fn disk_bytes(&self) -> u64 {
        match self.task.role {
            Role::Garbler => 0,
            Role::Evaluator => self.table_bytes().unwrap_or(u64::MAX),
        }
    }

    /// Returns the plan of the whole order, and what it needs.
    fn planned(&self) -> Result<(Plan, ExecutionNeeds), Error> {
        let plan = self.plan_of(self.task.count)?;
        let visitor = Supported {
            function: self.task.function,
            plan,
        };
        let needs = with_block_scheme(self.scheme_id(), Protocol::Batch, visitor)??;
        Ok((plan, needs))
    }

    fn plan_of(&self, executions: u64) -> Result<Plan, Error> {
        let bits = self.security.bits();
        Ok(Plan::cheapest(self.task.function, executions, bits)?)
    }

    /// Returns the digest of the order. Both parties must give the same order.
    pub fn digest(&self) -> Digest {
        let hash = Sha256::new_with_prefix(b"tacit batch order 1\0")
            .chain_update(self.task.function.digest().0)
            .chain_update(self.task.count.to_le_bytes());
        Digest(hash.finalize().into())
    }
}

impl StockOrder for BatchPreparation<'_> {
    fn terms(&self) -> Result<OrderTerms, Error> {
        Ok(OrderTerms {
            protocol: ProtocolId::Prepare,
            role: self.task.role,
            statistical_security_bits: self.security.bits(),
            scheme: self.scheme_id(),
            function: self.digest(),
            ots: OtNeed::of(Security::Malicious, self.planned()?.1.ots),
        })
    }

    fn fill(
        &mut self,
        session: &mut Session,
        opened: &mut OpenedStock,
        tag: RunTag,
    ) -> Result<Stocked, Error> {
        let scheme = self.scheme_id();
        let (function, bits) = (self.task.function, self.security.bits());
        let visitor = Fill {
            order: self,
            session,
            opened,
            tag,
        };
        let (made, available, plan) = with_block_scheme(scheme, Protocol::Batch, visitor)??;
        let kind = PreparedKind {
            name: name_of(function, bits),
            made,
            available,
            and_gates: function.and_gates(),
        };
        Ok(Stocked {
            kinds: vec![kind],
            runs: Some(available),
            made_at_bits: plan.map(|plan: Plan| plan.statistical_security_bits()),
            plan,
            makes_ots: made > 0,
        })
    }
}

/// A visitor that finds out whether `batch` can run a function.
struct Supported<'a> {
    function: &'a Function,
    plan: Plan,
}

/// The needs of an execution of a plan.
struct ExecutionNeeds {
    ots: u64,
    /// The bytes of one execution at the evaluator.
    execution_bytes: u64,
}

impl BlockVisitor for Supported<'_> {
    type Output = Result<ExecutionNeeds, Error>;

    fn visit<S: Scheme<Wire = Block>>(self, scheme: S) -> Self::Output {
        let batch = Batch::named(scheme, self.function, self.plan, [0; NAME_BYTES])?;
        let instance_size = instance_size(Role::Evaluator, &batch)?;
        Ok(ExecutionNeeds {
            ots: batch.ots(),
            execution_bytes: u64::from(instance_size.secret_bytes)
                + u64::from(instance_size.table_bytes),
        })
    }
}

struct Fill<'a, 'w> {
    order: &'a mut BatchPreparation<'w>,
    session: &'a mut Session,
    opened: &'a mut OpenedStock,
    tag: RunTag,
}

impl BlockVisitor for Fill<'_, '_> {
    /// The numbers of executions that were made and that can be used, and the plan.
    type Output = Result<(u64, u64, Option<Plan>), Error>;

    fn visit<S: Scheme<Wire = Block>>(self, scheme: S) -> Self::Output {
        let Self {
            order,
            session,
            opened,
            tag,
        } = self;
        let (function, security_bits) = (order.task.function, order.security.bits());
        let preparation = opened.meet_to_prepare(session)?;
        let kinds = kinds_in_stock(opened, function, security_bits);
        let there: u64 = kinds.iter().map(|kind| opened.agreed(kind)).sum();
        let missing = order.task.count.saturating_sub(there);
        if missing == 0 {
            return Ok((0, there, None));
        }
        let name = TryName::in_session(session, opened.role, Tried::Batches)?;
        let (mut tried, charged) = charged(session, opened, name, security_bits)?;
        let plan = Plan::cheapest(function, missing, charged)?;
        let batch = Batch::new(scheme, function, plan, &tag)?;
        let kind = kind_of(function, security_bits, &plan)?;
        let shown = name_of(function, security_bits);
        opened.stocks.note_name(&kind, &shown);
        let span = Span {
            first: opened.next_number(&kind),
            count: missing,
        };
        let lot = preparation.begin_lot(kind, instance_size(opened.role, &batch)?, span)?;
        make(session, order, &tag, &batch, (&lot, &mut tried))?;
        opened.publish(session, vec![lot])?;
        tried.finish()?;
        opened.note_published(&kind, span);
        Ok((missing, there + missing, Some(plan)))
    }
}

/// Counts a try, and agrees on the s at which the batch is planned. Both parties have ordered it at
/// `bits`. The evaluator, whom tries threaten, decides the s.
fn charged(
    session: &mut Session,
    opened: &OpenedStock,
    name: TryName,
    bits: u8,
) -> Result<(CountedTry, u8), Error> {
    let tried = CountedTry::plan(&opened.stocks, name)?;
    let charged = match opened.role {
        Role::Evaluator => {
            let charged = tries::charged(bits, name.tried, tried.before)?;
            session.exchange(async |io| tries::tell(io, charged))?;
            charged
        }
        Role::Garbler => session.exchange(async |io| tries::hear(io, bits).await)?,
    };
    Ok((tried, charged))
}

/// Makes and checks all of `batch`, and puts it into `lot`.
fn make<S: Scheme<Wire = Block>>(
    session: &mut Session,
    order: &mut BatchPreparation<'_>,
    tag: &RunTag,
    batch: &Batch<'_, S>,
    (lot, tried): (&LotWriter, &mut CountedTry),
) -> Result<(), Error> {
    let (threads, watch) = (order.threads.get(), &mut order.watch);
    let failure = StockFailure::default();
    let keeper = Keeper {
        lot,
        tried,
        header: header(batch),
        tables: Vec::new(),
        failure: &failure,
    };
    let prepared = match order.task.role {
        Role::Garbler => {
            let (mut ot, seed) = (session.offered_ots(tag, batch.ots())?, seed());
            run_script(session.channel(), watch, async |io| {
                let prepared = batch.prepare_as_garbler(io, &mut ot, keeper, threads, &seed);
                prepared.await.map(drop)
            })
        }
        Role::Evaluator => {
            let mut ot = session.chosen_ots(tag, batch.ots())?;
            let mut rng = UnwrapErr(getrandom::SysRng);
            run_script(session.channel(), watch, async |io| {
                let prepared = batch.prepare_as_evaluator(io, &mut ot, keeper, threads, &mut rng);
                prepared.await.map(drop)
            })
        }
    };
    failure.or(prepared)
}

/// A writer that puts executions into a lot.
struct Keeper<'a> {
    lot: &'a LotWriter,
    /// The batch as a try, which starts when its check set is about to be opened.
    tried: &'a mut CountedTry,
    header: Vec<u8>,
    /// The tables of the last execution. The next one reuses their memory.
    tables: Vec<u8>,
    failure: &'a StockFailure,
}

impl Keeper<'_> {
    /// Puts an execution with this secret into the lot. `publish` appends the public rest.
    fn put(
        &mut self,
        number: u32,
        secret: &[u8],
        publish: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), tacit_protocol::Error> {
        let number = self.lot.span().first + u64::from(number);
        self.tables.clear();
        self.tables.extend_from_slice(&self.header);
        publish(&mut self.tables);
        let put = self.lot.put(number, secret, &self.tables);
        put.map_err(|error| self.failure.note(error))
    }
}

impl Circuits<GarblerExecution> for Keeper<'_> {
    fn begin(&mut self) -> Result<(), tacit_protocol::Error> {
        self.tried.begin();
        Ok(())
    }

    fn keep(
        &mut self,
        number: u32,
        execution: GarblerExecution,
    ) -> Result<(), tacit_protocol::Error> {
        self.put(number, &execution.to_bytes(), |_| {})
    }
}

impl Circuits<EvaluatorExecution<'_>> for Keeper<'_> {
    fn begin(&mut self) -> Result<(), tacit_protocol::Error> {
        self.tried.begin();
        Ok(())
    }

    fn keep(
        &mut self,
        number: u32,
        execution: EvaluatorExecution<'_>,
    ) -> Result<(), tacit_protocol::Error> {
        self.put(number, &execution.secret_bytes(), |tables| {
            execution.append_published(tables);
        })
    }
}

import type { KeyIdentity } from "./identity.js";

/** Who somebody is: a key that no script can read out, or PEM text, which is secret. */
export type Identity = KeyIdentity | string;

/** A place in a program; `from` and `to` count UTF-16 units, as strings do here. */
export interface Place {
  file: string;
  from: number;
  to: number;
  line: number;
  column: number;
}

/** What is wrong with a program. */
export interface Problem {
  at: Place;
  message: string;
  label: string;
  related: { at: Place; label: string }[];
  help: string | null;
}

export type Role = "garbler" | "evaluator";
/** Whole numbers; those of 2^53 and above as text. */
export type Params = Record<string, number | string>;
/** Values as the language writes them: JSON, or text as on a command line. */
export type Inputs = Record<string, unknown>;

/** A program, and what both parties agree on. */
export interface Program {
  text: string;
  params?: Params;
  /** The values of public inputs. */
  public?: Inputs;
  /** Which run it is; `main`, or the only one, if left out. */
  run?: string;
}

/** What a line costs over the whole run. */
export interface LineCost {
  file: string;
  line: number;
  /** AND gates, those of the functions that it calls among them. */
  and_gates: number;
  own_and_gates: number;
}

/** The parts of an input's values, from which a page can make a form. */
export type Shape =
  | { kind: "bool" }
  | { kind: "text" }
  /** A number or bytes. */
  | { kind: "value" }
  | { kind: "enum"; variants: string[] }
  | { kind: "list"; least: number; most: number; of: Shape }
  | { kind: "tuple"; parts: Shape[] }
  | { kind: "struct"; fields: { name: string; type: string; shape: Shape }[] };

/** The messages of a run, in a session that has run before. */
export interface Traffic {
  protocol: "direct" | "authenticated";
  garbler_bytes: number;
  evaluator_bytes: number;
  /** How often a message waits for one from the other party. */
  trips: number;
}

/** A name and its declaration; both texts are empty for what Tacit itself declares. */
export interface Meaning {
  declared: string;
  documentation: string;
}

/** The verdict on a test of a program: it passed if there are no errors. */
export interface TestReport {
  name: string;
  at: Place;
  errors: Problem[];
  /** The first lines that `debug` shows. */
  debugged: string[];
}

/** A run of a program. */
export interface Description {
  run: string;
  documentation: string;
  parties: { name: string; role: Role }[];
  params: { name: string; least: string; greatest: string; value: string }[];
  /** Declarations of the types that ports have. */
  types: string[];
  /** The owner is a party's name, or `public`. */
  inputs: {
    name: string;
    type: string;
    owner: string;
    sorted: boolean;
    /** Whether no two elements may be alike in what they are sorted by. */
    strictly: boolean;
    sorted_by: string | null;
    /** Null for more parts than a form can have. */
    shape: Shape | null;
  }[];
  warnings: Problem[];
  /** To a party by its name, or to `both`. */
  results: { name: string; type: string; to: string }[];
  /** Which public input still wants a value; all that follows is there once none does. */
  wanted?: string;
  and_gates?: number;
  xor_gates?: number;
  lines?: LineCost[];
  /** By each protocol that pages run. */
  traffic?: Traffic[];
  /** What people pin. */
  meaning?: string;
  digest?: string;
}

export interface Result {
  name: string;
  text: string;
  value: unknown;
  /** The rows of an array or table of structs. */
  table: { columns: string[]; rows: string[][] } | null;
}

export interface Phase {
  phase: string;
  ms: number;
  sent_bytes: number;
  received_bytes: number;
  rounds: number;
}

/** What a run gave this party, and what it took. */
export interface Outcome {
  results: Result[];
  threat_model: string;
  security_bits: number | null;
  /** Whether `security_bits` holds for this run alone, since nobody counts tries. */
  of_this_run_alone: boolean;
  /** For `pin` of a later run. */
  chain: string | null;
  phases: Phase[];
  ms: number;
}

/**
 * Where the other party is: a service; a page or a command that comes to the same relay; or a tab
 * of this browser. URLs begin with `wss://`, or `ws://` on this machine.
 */
export type Address = { url: string } | { relay: string } | { room: string; side: Role };

/** Another page, known from now on. Both give `{ relay }` and `peer` to `runTwoParty`. */
export interface Met {
  relay: string;
  /** Its fingerprint. */
  peer: string;
}

export interface TwoPartyOrder {
  program: Program;
  /** This party's name in the program. */
  party: string;
  protocol: "direct" | "authenticated";
  inputs: Inputs;
  /** Who this party is, and the other's fingerprint; both are left out between tabs. */
  identity?: Identity;
  peer?: string;
  /** The token of a visitor, for a service that does not know the identity. */
  token?: string;
  /** For another tab to come, and for each message of the other party; 120,000 if left out. */
  patience_ms?: number;
}

/**
 * A matching with the table of a service. It is secure against semi-honest parties: the service is
 * assumed to follow the protocol, and one that does not may learn more of the keys than their number.
 */
export interface MatchOrder {
  /** Texts. Those that are alike once normalised count as one. */
  keys: string[];
  /** How both sides normalise keys, as `normalize` of the service; `none` if left out. */
  normalize?: "none" | "email" | "phone" | "date";
  /** Who gets the keys in common: `me`, if left out, for `to = "peer"` of the service. */
  to?: "me" | "both";
  /** The most keys that the service may have; 1,048,576 if left out. */
  most_peer_keys?: number;
  /** Who this person is, and the service's fingerprint. */
  identity: Identity;
  peer: string;
  /** The token of a visitor, for a service that does not know the identity. */
  token?: string;
  /** For each message of the service; 120,000 if left out. */
  patience_ms?: number;
}

export interface MatchOutcome {
  /** The places in `keys` of those that the service has, too, in ascending order. */
  common: number[];
  /** How many different keys each side has, which the other learns. */
  own_keys: number;
  peer_keys: number;
  threat_model: string;
  phases: Phase[];
  ms: number;
}

export interface ClientParties {
  identity: Identity;
  /** Fingerprints. */
  generator: string;
  cloud: string;
  /** For each message of a server; 120,000 if left out. */
  patience_ms?: number;
}

export interface ClientOrder extends ClientParties {
  /** A function of Tacit's library. */
  function: string;
  params: Params;
  inputs: Inputs;
  copies: number;
  security_bits: number;
  pin?: string | null;
}

/**
 * What a client's run is doing. The cloud says how many runs come `before` while the run waits for its
 * turn; nothing proves the number.
 */
export type ClientProgress =
  | { stage: "connecting" }
  | { stage: "waiting"; before: number }
  | { stage: "running" };

export interface Speed {
  backend: string;
  garble_mands_per_s: number;
  evaluate_mands_per_s: number;
}

/** What went wrong, in words for a person. */
export class TacitError extends Error {
  /**
   * `misbehaved` where somebody cheated or broke the protocol, and `identity` where somebody else
   * answers than whose fingerprint was given: do not go on, and tell the person.
   */
  kind:
    | "usage"
    | "input"
    | "misbehaved"
    | "identity"
    | "incompatible"
    | "network"
    | "stock"
    | "cancelled"
    | "other";
  /** What happened, for a page that has words of its own; null for what is not here. */
  reason:
    /** The page is served without the headers that isolate it. */
    | "not-isolated"
    /** Nobody was at the other end: no service, no relay, or no other tab. */
    | "unreached"
    /** The other party did not come to the relay. */
    | "not-there"
    /** Nobody waits for this invitation: it was used or changed, or its page is closed. */
    | "not-awaited"
    /** The invitation has expired. */
    | "expired"
    /** Another tab or page is this party already. */
    | "occupied"
    /** The other party does not know this identity, and accepts no token of it. */
    | "unknown"
    /** The other party refuses this run. */
    | "not-allowed"
    /** Its limit for this identity is reached. */
    | "too-often"
    /** The run takes more than the other party ever allows: give fewer keys. */
    | "too-large"
    /** It has no time now. */
    | "busy"
    /** A time was over: the one allowed here, or that for the other party's next message. */
    | "late"
    /** The other party left. */
    | "left"
    | null;
  /** Whether the run may have begun, so that the other party may have done its part. */
  started: boolean;
}

export interface CallOptions {
  /** Gives up this call: an abort, or `AbortSignal.timeout(…)`. Other calls go on. */
  signal?: AbortSignal;
}

/**
 * Two workers: one computes, one moves bytes. Calls run one after another. The constructor throws
 * where the page is not isolated.
 */
export class Tacit {
  /**
   * With `programs: false` it loads less, and has no calls that compile programs or functions of the
   * library: it makes identities, matches keys, and meets by invitations.
   */
  constructor(options?: { programs?: boolean });
  check(program: Program, options?: CallOptions): Promise<Problem[]>;
  describe(program: Program, options?: CallOptions): Promise<Description>;
  /** In the clear, with the inputs of both; what the run draws at random comes from `seed`. */
  evaluate(
    program: Program,
    inputs: Inputs,
    seed?: number,
    options?: CallOptions,
  ): Promise<(Result & { to: string })[]>;
  format(text: string, options?: CallOptions): Promise<string>;
  /** The names that may be used everywhere in a program, and the words of the language. */
  names(
    program: Program,
    options?: CallOptions,
  ): Promise<{ names: (Meaning & { name: string })[]; words: string[] }>;
  /** What is at a place of the text, in UTF-16 units. */
  explain(
    program: Program,
    offset: number,
    options?: CallOptions,
  ): Promise<{ meaning: Meaning | null; type: string | null }>;
  /** The places that get another name; fails if that would change the program. */
  rename(
    program: Program,
    offset: number,
    name: string,
    options?: CallOptions,
  ): Promise<{ from: number; to: number }[]>;
  test(program: Program, options?: CallOptions): Promise<TestReport[]>;
  speed(milliseconds?: number, options?: CallOptions): Promise<Speed>;
  /** A new identity: a key of the browser's where its WebCrypto has Ed25519, else PEM text. */
  generateIdentity(): Promise<Identity>;
  /** The identity of a PEM text, as a key of the browser's where it can be. */
  importIdentity(pem: string): Promise<Identity>;
  fingerprint(identity: Identity): Promise<string>;
  runTwoParty(at: Address, order: TwoPartyOrder, options?: CallOptions): Promise<Outcome>;
  /** Finds the keys that a service has in its table, too. Semi-honest: see `MatchOrder`. */
  match(
    at: { url: string },
    order: MatchOrder,
    options?: CallOptions & { onProgress?: (part: number) => void },
  ): Promise<MatchOutcome>;
  /**
   * Makes an invitation, hands its text to `onInvitation`, and waits at the relay for the page that
   * accepts it. One page can, within so many `minutes`: 15 if left out. The text is secret: anybody
   * with it can come as the guest, so it belongs in the part of an address after `#`. It is of no
   * use once this call has ended.
   */
  invite(
    order: { relay: string; identity: Identity; minutes?: number },
    options: CallOptions & { onInvitation: (invitation: string) => void },
  ): Promise<Met>;
  /** Where an invitation leads, and until when, in ms since 1970. Fails if it is damaged. */
  readInvitation(
    invitation: string,
    options?: CallOptions,
  ): Promise<{ relay: string; inviter: string; expires_ms: number }>;
  /** Accepts an invitation. The page that answers has the fingerprint that it names. */
  accept(
    invitation: string,
    order: {
      identity: Identity;
      /** For the page that made it, which waits for this one; 20,000 if left out. */
      patience_ms?: number;
    },
    options?: CallOptions,
  ): Promise<Met>;
  /** Connects to both servers, so that a run within 30 s need not. */
  meetServers(
    generatorAt: Address,
    cloudAt: Address,
    order: ClientParties,
    options?: CallOptions,
  ): Promise<void>;
  /** Connects to both servers, if need be, and keeps the connections for 30 s. */
  runClient(
    generatorAt: Address,
    cloudAt: Address,
    order: ClientOrder,
    options?: CallOptions & { onProgress?: (at: ClientProgress) => void },
  ): Promise<Outcome>;
  /** Gives up whatever runs; calls that wait fail. */
  cancel(): void;
  /** Ends both workers: calls that wait fail, and later ones as well. */
  close(): void;
}

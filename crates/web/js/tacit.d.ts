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
export type Params = Record<string, number>;
export type Inputs = Record<string, unknown>;

export interface PortOf<Party> {
  name: string;
  type: string;
  party: Party;
}

/** A program's `main` as a function. */
export interface Description {
  inputs: PortOf<Role>[];
  outputs: PortOf<Role | "both">[];
  and_gates: number;
  xor_gates: number;
  table_bytes: number;
  digest: string;
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
  outputs: Record<string, string>;
  threat_model: string;
  security_bits: number | null;
  /** For `pin` of a later run. */
  chain: string | null;
  phases: Phase[];
  ms: number;
}

/** Where the other party is: a service, or a tab of this browser. */
export type Address = { url: string } | { room: string; side: Role };

export interface TwoPartyOrder {
  program: string;
  params: Params;
  role: Role;
  protocol: "direct" | "authenticated";
  inputs: Inputs;
  /** PEM text of this party, and the other's fingerprint; both or none, and none between tabs alone. */
  identity?: string;
  peer?: string;
}

export interface ClientOrder {
  /** A function of Tacit's library. */
  function: string;
  params: Params;
  inputs: Inputs;
  copies: number;
  security_bits: number;
  identity: string;
  /** Fingerprints. */
  generator: string;
  cloud: string;
  pin?: string | null;
}

export interface Speed {
  backend: string;
  garble_mands_per_s: number;
  evaluate_mands_per_s: number;
}

/** What went wrong, in words for a person. */
export class TacitError extends Error {}

/** Two workers: one computes, one moves bytes. Calls run one after another. */
export class Tacit {
  constructor();
  check(text: string, params?: Params): Promise<Problem[]>;
  describe(text: string, params?: Params): Promise<Description>;
  evaluate(
    text: string,
    inputs: Inputs,
    params?: Params,
  ): Promise<Record<string, { value: string; to: Role | "both" }>>;
  format(text: string): Promise<string>;
  speed(milliseconds?: number): Promise<Speed>;
  /** A new identity as PEM text, which is secret. */
  generateIdentity(): Promise<string>;
  fingerprint(pem: string): Promise<string>;
  runTwoParty(at: Address, order: TwoPartyOrder): Promise<Outcome>;
  runClient(generatorAt: Address, cloudAt: Address, order: ClientOrder): Promise<Outcome>;
  /** Gives up whatever runs; calls that wait fail. */
  cancel(): void;
  close(): void;
}

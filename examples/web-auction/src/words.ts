import type { TacitError } from "tacit-web";

type Reason = NonNullable<TacitError["reason"]>;
type Kind = TacitError["kind"];

const OF_REASON: Partial<Record<Reason, string>> = {
  "not-isolated": "This page is served without the headers that it needs.",
  unreached: "The meeting point cannot be reached. Check your network and try again.",
  "not-awaited": "Nobody waits for this link: it was used, or its page was closed. Ask for a new one.",
  expired: "The link has expired. Make or ask for a new one.",
  "not-there": "The other person did not bid in time. Your bid is still secret.",
  occupied: "This auction is open in another page of yours. Go on there.",
  busy: "The meeting point is busy. Try again in a minute.",
  late: "The other person takes too long. Bid again, both of you.",
  left: "The connection was lost. Bid again, both of you.",
};

const OF_KIND: Partial<Record<Kind, string>> = {
  identity: "Somebody else answers in the other person's place. Do not go on with this link.",
  misbehaved: "The other page broke the protocol. Do not go on.",
  cancelled: "Cancelled.",
  input: "This link is damaged. Copy all of it.",
};

/** What to tell a visitor of an error. Its own message is for developers. */
export function words({ kind, reason, message }: TacitError): string {
  return (reason && OF_REASON[reason]) ?? OF_KIND[kind] ?? message;
}

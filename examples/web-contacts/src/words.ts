import type { TacitError } from "tacit-web";

type Reason = NonNullable<TacitError["reason"]>;
type Kind = TacitError["kind"];

const OF_REASON: Partial<Record<Reason, string>> = {
  "not-isolated": "This page is served without the headers that it needs.",
  unreached: "The service cannot be reached. Check your network and try again.",
  unknown: "The service does not let you in. Log in to the site again, and try again.",
  "not-allowed": "The service does not allow this search.",
  "too-often": "You have searched for as many addresses as the service allows today.",
  "too-large": "These are more addresses than the service allows. Give fewer.",
  busy: "The service is busy. Try again in a minute.",
  late: "The service takes too long. Try again.",
  left: "The connection was lost. Try again.",
};

const OF_KIND: Partial<Record<Kind, string>> = {
  identity: "Somebody else answers in the service's place. Do not go on, and tell its operator.",
  misbehaved: "The service broke the protocol. Do not go on, and tell its operator.",
  cancelled: "Cancelled.",
};

/** What to tell a visitor of an error. Its own message is for developers. */
export function words({ kind, reason, message }: TacitError): string {
  return (reason && OF_REASON[reason]) ?? OF_KIND[kind] ?? message;
}

import type { BleError } from '@station/protocol/ble-frames';

/**
 * `rediscover`: only after BlueZ has forgotten what it knows of the device. `restart_radio`: if it happens again, the controller may be stuck,
 * and answers no connection until it is switched off and on.
 */
export type Failure = { error: BleError; next: 'retry' | 'rediscover' | 'restart_radio' | 'give_up' };

const bluezError = 'org.bluez.Error.';
const busError = 'org.freedesktop.DBus.Error.';
/** Of ours, for a bus that is gone, and of the bus, for a program that does not run. */
const nobodyThere = ['station.Lost', `${busError}ServiceUnknown`, `${busError}NameHasNoOwner`, `${busError}NoReply`];
/** The object has vanished: BlueZ drops unpaired devices 30 s after their last advertisement. */
const vanished = [`${busError}UnknownObject`, `${busError}UnknownMethod`, `${bluezError}DoesNotExist`];
/** Answers of the device that the next try would bring again. */
const refused = ['NotPermitted', 'NotAuthorized', 'NotSupported', 'InvalidArguments', 'ImproperlyConfigured'];

/** What an error of a call means. @param step what was called. */
export function failureOfCall(step: 'connect' | 'write', errorName: string): Failure {
  if (nobodyThere.includes(errorName)) return { error: 'bluetooth_stopped', next: 'retry' };
  if (errorName === `${bluezError}NotReady`) return { error: 'adapter_off', next: 'retry' };
  if (vanished.includes(errorName)) return { error: step === 'connect' ? 'not_found' : 'disconnected', next: 'retry' };
  if (step === 'connect')
    return { error: 'connect_failed', next: errorName === 'station.TimedOut' ? 'restart_radio' : 'retry' };
  if (errorName === `${bluezError}NotConnected`) return { error: 'disconnected', next: 'retry' };
  if (errorName === `${bluezError}InvalidValueLength`) return { error: 'payload_invalid', next: 'give_up' };
  return { error: 'write_failed', next: refused.some((name) => errorName === bluezError + name) ? 'give_up' : 'retry' };
}

/** `first`: what is done before it. */
export type NextTry =
  | { kind: 'end'; error: BleError }
  | { kind: 'again'; first: 'disconnect' | 'forget' | 'restart_radio'; waitMs: number };

/**
 * What follows a failed try.
 * @param tried number of tries so far.
 * @param hasForgotten BlueZ was made to forget the device before.
 * @param unanswered connections that got no answer, this one included; null: the radio was restarted before.
 */
export function decideNextTry(
  failure: Failure,
  {
    tried,
    tries,
    hasForgotten,
    unanswered,
    firstRetryMs,
  }: { tried: number; tries: number; hasForgotten: boolean; unanswered: number | null; firstRetryMs: number },
): NextTry {
  const { error, next } = failure;
  if (next === 'give_up' || tried >= tries || (next === 'rediscover' && hasForgotten)) return { kind: 'end', error };
  // A second refused write may be one to handles that the device had before an update: forgetting clears them.
  const isForgotten = next === 'rediscover' || (error === 'write_failed' && tried === 2);
  const isStuck = next === 'restart_radio' && unanswered !== null && unanswered >= 2;
  const first = isForgotten ? 'forget' : isStuck ? 'restart_radio' : 'disconnect';
  return { kind: 'again', first, waitMs: firstRetryMs * tried };
}

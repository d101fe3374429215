import type { Bus, BusSignal } from '@station/kit/message-bus';
import { classify, isUnsettled, type Evidence, type JoinContext, type Verdict } from './classify.ts';
import { interfaces, number, record, text } from './objects.ts';

export type ActivationWatch = Disposable & {
  /** The verdict from the signals since the watch began; null when the caller's signal aborts first. */
  ended(signal: AbortSignal): Promise<Verdict | null>;
  evidence(): readonly Evidence[];
};

/** Listens to an activation on a device. Start it before the activation is requested, so that no signal is missed. */
export function watchActivation(
  bus: Bus,
  target: { devicePath: string; supplicantPath: string | null; context: JoinContext; handshakeMs: number },
): ActivationWatch {
  const evidence: Evidence[] = [];
  let handshakeTimer: NodeJS.Timeout | undefined;
  const verdict = Promise.withResolvers<Verdict>();
  const listening = bus.listen((signal) => {
    const fresh = evidenceOf(signal, target);
    if (fresh.length === 0) return;
    evidence.push(...fresh);
    const found = classify(target.context, evidence);
    if (found) verdict.resolve(found);
    if (!isUnsettled(evidence)) {
      clearTimeout(handshakeTimer);
      handshakeTimer = undefined;
    } else handshakeTimer ??= setTimeout(() => verdict.resolve({ kind: 'unsettled' }), target.handshakeMs);
  });
  return {
    ended: async (signal) => {
      if (signal.aborted) return null;
      const gaveUp = Promise.withResolvers<null>();
      const onAbort = (): void => gaveUp.resolve(null);
      signal.addEventListener('abort', onAbort, { once: true });
      try {
        return await Promise.race([verdict.promise, gaveUp.promise]);
      } finally {
        signal.removeEventListener('abort', onAbort);
      }
    },
    evidence: () => evidence,
    [Symbol.dispose]: () => {
      clearTimeout(handshakeTimer);
      listening[Symbol.dispose]();
    },
  };
}

/** True when NetworkManager or the bus itself has disappeared. */
const isGone = ({ member, body }: BusSignal): boolean =>
  (member === 'NameOwnerChanged' && body[2] === '') || (member === 'ConnectionChanged' && body[0] === false);

function evidenceOf(signal: BusSignal, target: { devicePath: string; supplicantPath: string | null }): Evidence[] {
  if (isGone(signal)) return [{ kind: 'gone' }];
  const { path, member, body } = signal;
  if (path === target.devicePath && signal.interface === interfaces.device && member === 'StateChanged')
    return [{ kind: 'device', state: number(body[0]), reason: number(body[2]) }];
  if (path !== target.supplicantPath || member !== 'PropertiesChanged') return [];
  const changed = record(body[1]);
  const found: Evidence[] = [];
  // Read the codes before the state: they explain how the previous state ended.
  if ('AuthStatusCode' in changed) found.push({ kind: 'authentication', status: number(changed['AuthStatusCode']) });
  if ('AssocStatusCode' in changed) found.push({ kind: 'association', status: number(changed['AssocStatusCode']) });
  if ('DisconnectReason' in changed) found.push({ kind: 'disconnect', reason: number(changed['DisconnectReason']) });
  if ('State' in changed) found.push({ kind: 'supplicant', state: text(changed['State']) });
  return found;
}

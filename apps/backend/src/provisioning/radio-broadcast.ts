import { type Clock, isoTime } from '@station/kit/clock';
import type { Candidate, RadioReport } from '@station/protocol/provisioning';
import type { ServerMessage } from '@station/protocol/socket';
import type { DeviceEvents } from '../core/device-events.ts';
import type { SocketHub } from '../socket/hub.ts';

/** What the radio reports to clients: the replica that scans sends it to all replicas, and each replays it to its new clients. */
export type RadioBroadcast = Disposable & {
  report(): RadioReport;
  candidates(): readonly Candidate[];
  /** Also those whose loss was perhaps not received. */
  all(): readonly Candidate[];
  sendReport(report: RadioReport): void;
  send(candidate: Candidate): void;
  sendLost(address: string): void;
};

/** The leader refreshes what it still hears, so an older candidate is one whose loss was not received. */
const staleAfterMs = 150_000;

export function createRadioBroadcast(parts: {
  initial: RadioReport;
  hub: Pick<SocketHub, 'replay'>;
  events: DeviceEvents;
  clock: Clock;
}): RadioBroadcast {
  const { hub, events, clock } = parts;
  const sent = new Map<string, Candidate>();
  let report = parts.initial;

  const now = (): string => isoTime(clock.now());
  const candidates = (): Candidate[] => {
    const oldest = isoTime(clock.now() - staleAfterMs);
    return [...sent.values()].filter(({ lastSeenAt }) => lastSeenAt >= oldest);
  };
  const candidateMessage = (candidate: Candidate) =>
    ({ type: 'provisioning_candidate', at: now(), candidate }) as const;
  const radioMessage = () => ({ type: 'provisioning_radio', at: now(), radio: report }) as const;
  const emit = (message: ServerMessage, key: string): void => events.emit({ kind: 'message', message, key });
  const received = (message: ServerMessage): void => {
    if (message.type === 'provisioning_candidate') sent.set(message.candidate.address, message.candidate);
    else if (message.type === 'provisioning_candidate_lost') sent.delete(message.address);
    else if (message.type === 'provisioning_radio') {
      report = message.radio;
      // Nobody watches: the cache is cleared (specification, "BLE scan lifecycle").
      if (report.state === 'off') sent.clear();
    }
  };
  const opened = new DisposableStack();
  opened.use(
    events.subscribe((event) => {
      if (event.kind === 'message') received(event.message);
    }),
  );
  opened.use(hub.replay(() => [radioMessage(), ...candidates().map(candidateMessage)]));
  return {
    report: () => report,
    candidates,
    all: () => [...sent.values()],
    sendReport: (next) => emit({ type: 'provisioning_radio', at: now(), radio: next }, 'provisioning_radio'),
    // One key for found and lost: a slow client gets the latest of both.
    send: (candidate) => emit(candidateMessage(candidate), candidateKey(candidate.address)),
    sendLost: (address) => emit({ type: 'provisioning_candidate_lost', at: now(), address }, candidateKey(address)),
    [Symbol.dispose]: () => opened.dispose(),
  };
}

const candidateKey = (address: string): string => `provisioning_candidate ${address}`;

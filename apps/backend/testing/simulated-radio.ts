import type { ConnectAndWrite } from '@station/protocol/ble-frames';
import type { Candidate, ProvisioningError, RadioReport } from '@station/protocol/provisioning';
import type { WriteOutcome } from '../src/provisioning/ble-helper.ts';
import type { Radio } from '../src/provisioning/radio.ts';

export type SimulatedWrite = {
  command: Omit<ConnectAndWrite, 'event'>;
  /** What was written. */
  payload: Record<string, string | number>;
  end(outcome: WriteOutcome): void;
};

/** A radio whose candidates and write results a test decides. One write runs at a time, as in the real one. */
export type SimulatedRadio = Radio & {
  writes: SimulatedWrite[];
  seen: Candidate[];
  set(report: RadioReport): void;
  isPaused: boolean;
};

export function simulateRadio(...seen: Partial<Candidate>[]): SimulatedRadio {
  let last: Promise<unknown> = Promise.resolve();
  let report: RadioReport = { state: 'scanning', reason: null };
  const radio: SimulatedRadio = {
    writes: [],
    seen: seen.map(candidateOf),
    set: (next) => (report = next),
    isPaused: false,
    report: () => report,
    candidates: () => radio.seen,
    write: (command, { onStart, signal }) => {
      const before = last;
      const writing = (async (): Promise<WriteOutcome> => {
        await before;
        while (radio.isPaused && !signal.aborted) await new Promise((resolve) => setImmediate(resolve));
        if (signal.aborted) return { ok: false, error: 'stopping' as ProvisioningError };
        onStart();
        return new Promise((end) => {
          const payload = JSON.parse(command.payload) as SimulatedWrite['payload'];
          radio.writes.push({ command, payload, end });
        });
      })();
      last = writing;
      return writing;
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
  return radio;
}

const candidateOf = (given: Partial<Candidate>, index: number): Candidate => ({
  address: `AA:BB:CC:DD:EE:0${index}`,
  name: 'SH_light_lamp-1',
  rssi: -50,
  service_uuids: [],
  service_data: {},
  protocol: 'station',
  externalId: 'lamp-1',
  deviceType: 'light',
  defaultName: 'Light lamp-1',
  deviceId: null,
  lastSeenAt: new Date(0).toISOString(),
  ...given,
});

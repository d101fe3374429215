import type { DeviceType } from '@station/protocol/device-types';
import { ownValue } from '@station/protocol/own-value';
import type { DeviceReport } from './device-events.ts';
import type { State } from './device-state.ts';

/** What confirms a command besides an acknowledgement. It is stored, so a later release must still read it. */
export type Confirmation =
  | { by: 'acknowledgement' }
  /** The command restarts the device, and each start causes a handshake. */
  | { by: 'handshake' }
  /** A report with one of the wanted values and with none that contradicts them, or with a value that differs. All are of one kind. */
  | { by: 'report'; values: readonly ConfirmingValue[] };

/** `differsFrom`: the value before a command whose result is not known in advance, such as `toggle`. */
type ConfirmingValue = { capability: string; tolerance: number } & ({ equals: unknown } | { differsFrom: unknown });

const confirmedByHandshake: readonly string[] = ['reboot', 'ota_update', 'wifi_update'];

/** Share of the range: some lamps have only ten brightness steps and choose the nearest one. */
const coarsestStep = 0.1;

/** Only capabilities that the type names confirm (contracts, section 8a). */
export function confirmationOf(
  type: DeviceType | undefined,
  action: string,
  params: Readonly<Record<string, unknown>>,
  before: State,
): Confirmation {
  const command = type?.commands.find((one) => one.action === action);
  if (command === undefined) return { by: confirmedByHandshake.includes(action) ? 'handshake' : 'acknowledgement' };
  const wanted = command.confirmedBy.flatMap((capability): ConfirmingValue[] => {
    const equals = ownValue(params, capability) ?? ownValue(command.sets ?? {}, capability);
    return equals === undefined ? [] : [{ capability, tolerance: toleranceOf(type, capability), equals }];
  });
  if (wanted.length > 0) return { by: 'report', values: wanted };
  const differing = command.confirmedBy.flatMap((capability): ConfirmingValue[] => {
    // Without a value to compare with, a repeated report would look like a result.
    const known = ownValue(before, capability);
    return known === undefined ? [] : [{ capability, tolerance: 0, differsFrom: known }];
  });
  return differing.length === 0 ? { by: 'acknowledgement' } : { by: 'report', values: differing };
}

function toleranceOf(type: DeviceType | undefined, key: string): number {
  const { min, max } = type?.capabilities.find((one) => one.key === key) ?? {};
  return min === undefined || max === undefined ? 0 : (max - min) * coarsestStep;
}

/** Whether a report confirms a command sent at `sentAt`, for a device that does not acknowledge. */
export function isConfirmedBy(confirmation: Confirmation, report: DeviceReport, sentAt: number): boolean {
  if (report.kind === 'handshake') return confirmation.by === 'handshake';
  if (report.kind !== 'state' || confirmation.by !== 'report') return false;
  // It waited at the broker, and may be older than the command.
  if (report.sentAt !== undefined && report.sentAt < sentAt) return false;
  const reported = confirmation.values.filter(({ capability }) => Object.hasOwn(report.state, capability));
  const differing = reported.filter((value) => 'differsFrom' in value);
  // A command without a known result may change only one of its capabilities.
  if (differing.length > 0) {
    return differing.some(({ capability, differsFrom }) => !isSame(ownValue(report.state, capability), differsFrom, 0));
  }
  const wanted = reported.filter((value) => 'equals' in value);
  return (
    wanted.length > 0 &&
    wanted.every(({ capability, equals, tolerance }) => isSame(ownValue(report.state, capability), equals, tolerance))
  );
}

const isSame = (one: unknown, other: unknown, tolerance: number): boolean =>
  typeof one === 'number' && typeof other === 'number' ? Math.abs(one - other) <= tolerance : one === other;

/** A restart changes values too: a device that has restarted since cannot show a difference that the command made. */
export const afterRestart = (confirmation: Confirmation): Confirmation =>
  confirmation.by === 'report' && confirmation.values.some((value) => 'differsFrom' in value)
    ? { by: 'acknowledgement' }
    : confirmation;

/** Whether the command may be sent again to a device that has restarted. */
export const isRepeatable = (type: DeviceType | undefined, action: string): boolean =>
  type?.commands.find((one) => one.action === action)?.repeatable ?? false;

import { commonCommands } from '@station/protocol/device-command-schemas';
import { builtInDeviceTypes } from '@station/protocol/device-types';
import type { DeviceReport } from '../core/device-events.ts';

/** Share of the range: lamps may know no more than ten steps from dark to bright, and take one next to what was asked for. */
const coarsestStep = 0.1;

/** A value of the state that a command brings. `give`: how far from it a device may be that counts in steps of its own. */
export type ExpectedValue = { capability: string; value: unknown; give: number };

/** What a command that was carried out makes of the state. */
export function expectedOf(
  type: string,
  action: string,
  params: Readonly<Record<string, unknown>>,
): readonly ExpectedValue[] {
  const command = builtInDeviceTypes
    .find((known) => known.type === type)
    ?.commands.find((one) => one.action === action);
  return (command?.parameters ?? []).flatMap(({ name, capability, min, max }) => {
    if (capability === null) return [];
    return [{ capability, value: params[name], give: min === null || max === null ? 0 : (max - min) * coarsestStep }];
  });
}

/** As {@link expectedOf}, of a command whose parameters are not known any more; null when they matter. */
export const expectedUnknowing = (action: string): readonly ExpectedValue[] | null =>
  Object.hasOwn(commonCommands, action) ? [] : null;

/**
 * Whether what a device said by itself, one that never confirms by event, may stand for a confirmation: a state that is not another than the
 * one that the command brings; a greeting, only of what makes a device start anew: it greets after each connect, whatever it was told.
 */
export function isSignOf(report: DeviceReport, action: string, expected: readonly ExpectedValue[] | null): boolean {
  if (report.kind === 'handshake') return Object.hasOwn(commonCommands, action);
  if (report.kind !== 'state' || expected === null) return false;
  return expected.every(({ capability, value, give }) => {
    const said = report.state[capability];
    if (typeof said === 'number' && typeof value === 'number') return Math.abs(said - value) <= give;
    return said === undefined || said === value;
  });
}

import type { CommandRequest } from '@station/protocol/device-commands';
import type { DeviceType } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import { type Setting, viewOf } from './device-view.ts';

/** The commands that bring a device to the state that it has now; none for a device that nothing can be set of. */
export function stateCommands(device: Device, type: DeviceType | undefined): CommandRequest[] {
  const { settings, toggle } = viewOf(device, type, undefined);
  const known = settings.filter((setting) => isSettable(setting));
  const main = known.filter(({ capability }) => capability.key === toggle?.capability.key);
  // Of a lamp that is off nothing else is set: its brightness would switch it on.
  if (toggle?.value === false && main.length > 0) return main.flatMap(requestOf);
  return [...main, ...known.filter((setting) => !main.includes(setting))].flatMap(requestOf);
}

/** A value that was reported, and that is set rather than toggled. */
function isSettable({ capability, value, request }: Setting): boolean {
  if (value === undefined || value === null) return false;
  return capability.kind !== 'boolean' || JSON.stringify(request(true)) !== JSON.stringify(request(false));
}

const requestOf = ({ value, request }: Setting): CommandRequest[] =>
  typeof value === 'boolean' || typeof value === 'number' || typeof value === 'string' ? [request(value)] : [];

import { randomBytes } from 'node:crypto';
import { nodeDisk, readText, writeDurable } from '@station/kit/durable-files';
import { findBuiltInType } from '@station/protocol/builtin-device-types';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { DeviceLogin } from './virtual-device.ts';

const LoginsFile = Type.Object({
  devices: Type.Array(
    Type.Object({
      externalId: Type.String(),
      type: Type.String(),
      name: Type.String(),
      token: Type.String(),
      profile: Type.Optional(Type.Enum(['station', 'field'])),
    }),
  ),
});

export const simulatedTypes = ['climate', 'pir', 'switch-pir', 'light'] as const;

const names: Record<(typeof simulatedTypes)[number], readonly string[]> = {
  climate: ['Living room climate', 'Bedroom climate', 'Kitchen climate', 'Cellar climate'],
  pir: ['Hall motion', 'Garage motion', 'Stairs motion'],
  'switch-pir': ['Hall switch', 'Porch switch', 'Corridor switch'],
  light: ['Ceiling lamp', 'Desk lamp', 'Bedside lamp', 'Garden light'],
};

/**
 * Creates logins with new tokens for `count` devices. The types follow one another in turn.
 * @param field number of devices with the profile of the field, which come last. Default: none.
 */
export function makeLogins(count: number, field = 0): DeviceLogin[] {
  return Array.from({ length: count }, (_, index) => {
    const type = simulatedTypes[index % simulatedTypes.length] ?? 'climate';
    const round = Math.floor(index / simulatedTypes.length);
    const name = names[type][round] ?? `${names[type][round % names[type].length]} ${round + 1}`;
    return {
      externalId: `${type}-${String(index + 1).padStart(4, '0')}`,
      type,
      name,
      token: randomBytes(32).toString('base64url'),
      profile: index < count - field ? 'station' : 'field',
    };
  });
}

/** Reads a file like the backend's DEVICES_FILE; null without a file. @throws {Error} when its content is invalid. */
async function readLogins(path: string): Promise<DeviceLogin[] | null> {
  const text = await readText(nodeDisk, path);
  if (text === null) return null;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = null;
  }
  if (!Value.Check(LoginsFile, body)) throw new Error(`${path} is not a valid devices file`);
  return body.devices.map(({ profile, ...login }) => ({
    ...login,
    ...(profile === undefined ? firstRelease(login) : { profile }),
  }));
}

/** A file of Station's first release has no profiles, and its types were other ones. */
const firstRelease = ({ type }: { type: string }): Pick<DeviceLogin, 'type' | 'profile'> => ({
  type: findBuiltInType(`${type}-v1`)?.type ?? type,
  profile: 'station',
});

/** Reads the file, or creates it with `count` devices (see {@link makeLogins}), readable only by this user. */
export async function readOrMakeLogins(path: string, count: number, field = 0): Promise<DeviceLogin[]> {
  const existing = await readLogins(path);
  if (existing !== null) return existing;
  const devices = makeLogins(count, field);
  await writeDurable(nodeDisk, path, `${JSON.stringify({ devices }, null, 2)}\n`);
  return devices;
}

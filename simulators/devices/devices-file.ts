import { randomBytes } from 'node:crypto';
import { nodeDisk, readText, writeDurable } from '@station/kit/durable-files';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { simulatedTypes, type SimulatedType } from './behaviour.ts';
import type { DeviceLogin } from './virtual-device.ts';

const LoginsFile = Type.Object({
  devices: Type.Array(
    Type.Object({
      externalId: Type.String(),
      type: Type.Enum([...simulatedTypes]),
      name: Type.String(),
      token: Type.String(),
    }),
  ),
});

const names: Record<SimulatedType, readonly string[]> = {
  climate: ['Living room climate', 'Bedroom climate', 'Kitchen climate', 'Cellar climate'],
  pir: ['Hall motion', 'Garage motion', 'Stairs motion'],
  'switch-pir': ['Hall switch', 'Porch switch', 'Corridor switch'],
  light: ['Ceiling lamp', 'Desk lamp', 'Bedside lamp', 'Garden light'],
};

/** Logins of `count` devices of all types in turn, with new tokens. */
export function makeLogins(count: number): DeviceLogin[] {
  return Array.from({ length: count }, (_, index) => {
    const type = simulatedTypes[index % simulatedTypes.length] ?? 'climate';
    const nth = Math.floor(index / simulatedTypes.length);
    const name = names[type][nth] ?? `${names[type][nth % names[type].length]} ${nth + 1}`;
    return {
      externalId: `${type}-${String(index + 1).padStart(4, '0')}`,
      type,
      name,
      token: randomBytes(32).toString('base64url'),
    };
  });
}

/** Logins in a file like the backend's DEVICES_FILE; null without a file. @throws {Error} when it has another form. */
async function readLogins(path: string): Promise<DeviceLogin[] | null> {
  const text = await readText(nodeDisk, path);
  if (text === null) return null;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = null;
  }
  if (!Value.Check(LoginsFile, body)) throw new Error(`${path} is not a devices file`);
  return body.devices;
}

/** Reads the file, or creates it with `count` devices, readable only by this user. */
export async function readOrMakeLogins(path: string, count: number): Promise<DeviceLogin[]> {
  const kept = await readLogins(path);
  if (kept !== null) return kept;
  const devices = makeLogins(count);
  await writeDurable(nodeDisk, path, `${JSON.stringify({ devices }, null, 2)}\n`);
  return devices;
}

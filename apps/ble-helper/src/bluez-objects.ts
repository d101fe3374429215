import { ownValue } from '@station/protocol/own-value';
/** The objects of BlueZ, as its object manager and its signals tell them (BlueZ, doc/org.bluez.*.rst). Pure. */

export const bluezName = 'org.bluez';
export const interfaces = {
  adapter: 'org.bluez.Adapter1',
  device: 'org.bluez.Device1',
  service: 'org.bluez.GattService1',
  characteristic: 'org.bluez.GattCharacteristic1',
  properties: 'org.freedesktop.DBus.Properties',
  objectManager: 'org.freedesktop.DBus.ObjectManager',
} as const;

/** Properties by name, without variants. */
export type Values = Readonly<Record<string, unknown>>;
/** Path → interface → properties. */
export type ObjectTree = Map<string, Readonly<Record<string, Values>>>;

/** The parts of a signal that are read. */
export type TreeSignal = { path: string; interface: string; member: string; body: readonly unknown[] };
/** `keys`: names of the properties that came or changed. */
export type TreeChange =
  | { kind: 'changed'; path: string; interface: string; keys: string[] }
  | { kind: 'removed'; path: string };

export const record = (value: unknown): Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Values) : {};
export const text = (value: unknown): string => (typeof value === 'string' ? value : '');
export const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];

/** Reads the answer of GetManagedObjects. */
export function treeOf(objects: unknown): ObjectTree {
  return new Map(Object.entries(record(objects)).map(([path, all]) => [path, interfacesOf(all)]));
}

const interfacesOf = (all: unknown): Record<string, Values> =>
  Object.fromEntries(Object.entries(record(all)).map(([name, values]) => [name, record(values)]));

/** Changes the tree as the signal says, and returns what changed. */
export function applySignal(tree: ObjectTree, signal: TreeSignal): TreeChange[] {
  if (signal.interface === interfaces.objectManager) {
    const path = text(signal.body[0]);
    const what = signal.body[1];
    return signal.member === 'InterfacesAdded' ? add(tree, path, interfacesOf(what)) : remove(tree, path, texts(what));
  }
  if (signal.interface !== interfaces.properties || signal.member !== 'PropertiesChanged') return [];
  const name = text(signal.body[0]);
  const changed = record(signal.body[1]);
  const invalidated = texts(signal.body[2]);
  const before = tree.get(signal.path);
  // BlueZ announces an object before its properties change.
  if (ownValue(before, name) === undefined) return [];
  const values = Object.fromEntries(
    Object.entries({ ...ownValue(before, name), ...changed }).filter(([key]) => !invalidated.includes(key)),
  );
  tree.set(signal.path, { ...before, [name]: values });
  const keys = [...Object.keys(changed), ...invalidated];
  return [{ kind: 'changed', path: signal.path, interface: name, keys }];
}

function add(tree: ObjectTree, path: string, all: Record<string, Values>): TreeChange[] {
  tree.set(path, { ...tree.get(path), ...all });
  return Object.entries(all).map(([name, values]) => ({
    kind: 'changed',
    path,
    interface: name,
    keys: Object.keys(values),
  }));
}

function remove(tree: ObjectTree, path: string, names: readonly string[]): TreeChange[] {
  const left = Object.entries(tree.get(path) ?? {}).filter(([name]) => !names.includes(name));
  if (left.some(([name]) => name === interfaces.device || name === interfaces.adapter)) {
    tree.set(path, Object.fromEntries(left));
    return [];
  }
  tree.delete(path);
  return [{ kind: 'removed', path }];
}

/** Path of the object of a device: BlueZ makes it of the adapter's and of the address. */
export const devicePath = (adapterPath: string, address: string): string =>
  `${adapterPath}/dev_${address.replaceAll(':', '_')}`;

export const deviceOf = (tree: ObjectTree, path: string): Values | null => tree.get(path)?.[interfaces.device] ?? null;

/** Path of a characteristic of a connected device, or what is missing. */
export function findCharacteristic(
  tree: ObjectTree,
  device: string,
  uuids: { service: string; characteristic: string },
): { path: string } | { missing: 'service' | 'characteristic' } {
  const services = [...tree].filter(
    ([path, all]) => path.startsWith(`${device}/`) && all[interfaces.service]?.['UUID'] === uuids.service,
  );
  const found = [...tree].find(
    ([path, all]) =>
      all[interfaces.characteristic]?.['UUID'] === uuids.characteristic &&
      services.some(([service]) => path.startsWith(`${service}/`)),
  );
  if (found) return { path: found[0] };
  return { missing: services.length === 0 ? 'service' : 'characteristic' };
}

// npm run bench -- zigbee-definitions [--mutated 100000] [--seed N]
// Every device that a release of Zigbee2MQTT knows is announced, reports each of its values and is told each that can be set, through the functions
// of the dialect. Required: every value shown as it was sent, 98 % of the settable ones commanded and confirmed, no exception. Then mutated
// announcements and payloads: no exception, and nothing beyond the limits of a type.
import { parseArgs } from 'node:util';
import { checkCommand } from '@station/backend/core/commands';
import { confirmationOf, isConfirmedBy } from '@station/backend/core/command-decide';
import { describe } from '@station/backend/gateways/zigbee2mqtt/describe-decide';
import { commandPayload, readState } from '@station/backend/gateways/payloads-decide';
import { maxDeviceTypeBytes, type DeviceType, readDeviceType } from '@station/protocol/device-types';
import { ownValue } from '@station/protocol/own-value';
import { createRandom } from '../faults/choice.ts';
import { mutateJson } from '../faults/mutate.ts';
import { readZigbeeDefinitions, type ZigbeeDefinition } from '../rig/zigbee-definitions.ts';

const { values: flags } = parseArgs({
  options: { mutated: { type: 'string', default: '100000' }, seed: { type: 'string', default: '1' } },
});

/** A value that a definition announces, as this bench reads it: by its own rules, not by those of the dialect. */
type Leaf = { path: readonly string[]; access: number; expose: Expose; group: string | null };
type Expose = {
  type: string;
  name?: string;
  property?: string;
  access?: number;
  features?: readonly Expose[];
  values?: readonly unknown[];
  value_on?: unknown;
  value_off?: unknown;
  value_min?: number;
  value_max?: number;
};
type Announced = NonNullable<ReturnType<typeof describe>>;

const counts = {
  models: 0,
  readable: 0,
  shown: 0,
  settable: 0,
  commanded: 0,
  confirmed: 0,
  taken: 0,
  onPage: 0,
  exceptions: 0,
};
const missed = new Map<string, number>();
let largestType = 0;

const definitions = await readZigbeeDefinitions();
for (const definition of definitions) guarded(definition.model, () => tryModel(definition));
const mutants = tryMutants(Number(flags.mutated));

const shownShare = counts.shown / counts.readable;
const setShare = (counts.confirmed + counts.taken) / counts.settable;
const ok =
  shownShare === 1 &&
  setShare >= 0.98 &&
  counts.exceptions === 0 &&
  mutants.faults.length === 0 &&
  mutants.described >= mutants.count / 4;
for (const [what, times] of [...missed].sort((one, other) => other[1] - one[1]).slice(0, 30))
  process.stderr.write(`${times} x ${what}\n`);
for (const fault of mutants.faults.slice(0, 10)) process.stderr.write(`${fault}\n`);
const result = {
  ...counts,
  largestType,
  mutants: mutants.count,
  described: mutants.described,
  faults: mutants.faults.length,
  shownShare,
};
process.stdout.write(
  `${JSON.stringify({ bench: 'zigbee-definitions', value: setShare, unit: 'of settable values', ratio: shownShare, goal: 0.98, ok, ...result })}\n`,
);

function guarded(what: string, work: () => void): void {
  try {
    work();
  } catch (error) {
    counts.exceptions += 1;
    miss(`exception: ${what}: ${String(error)}`);
  }
}

function miss(what: string): void {
  missed.set(what, (missed.get(what) ?? 0) + 1);
}

function entryOf(definition: ZigbeeDefinition): Record<string, unknown> {
  return {
    ieee_address: '0x00158d0001dc126a',
    friendly_name: 'kitchen/one',
    type: 'Router',
    supported: true,
    disabled: false,
    interview_completed: true,
    definition,
  };
}

function tryModel(definition: ZigbeeDefinition): void {
  counts.models += 1;
  const leaves = leavesOf(definition.exposes as Expose[], [], 0, null);
  counts.readable += leaves.filter(({ access }) => (access & 1) !== 0).length;
  counts.settable += leaves.filter(({ access }) => (access & 2) !== 0).length;
  const announced = describe(entryOf(definition));
  if (announced === null) return miss('a model is not described');
  const { firmwareVersion: _version, chip: _chip, ...words } = announced.words;
  largestType = Math.max(largestType, Buffer.byteLength(JSON.stringify(words)));
  const read = readDeviceType(JSON.parse(JSON.stringify(words)));
  if (read.kind === 'invalid') return miss(`no type: ${read.faults[0]}`);
  for (const leaf of leaves) {
    if ((leaf.access & 1) !== 0) tryReading(announced, leaf);
    if ((leaf.access & 2) !== 0) tryCommand(announced, read.deviceType, leaf);
  }
}

function leavesOf(exposes: readonly Expose[], path: readonly string[], access: number, group: string | null): Leaf[] {
  return exposes.flatMap((expose) => {
    const inner = expose.access ?? access;
    const name = expose.property ?? expose.name ?? '';
    const isGroup = ['light', 'switch', 'lock', 'cover', 'fan', 'climate'].includes(expose.type);
    if (isGroup) return leavesOf(expose.features ?? [], path, inner, expose.type);
    if (expose.type === 'composite' && (expose.features ?? []).length > 0)
      return leavesOf(expose.features ?? [], [...path, name], inner, group);
    return [{ path: [...path, name], access: inner, expose, group }];
  });
}

/** Two values as a device would report them, and what the station must show. */
function samplesOf({ expose, group }: Leaf): { sent: unknown; shown: unknown }[] {
  const { type, values = [], value_min: min = 0, value_max: max = 100 } = expose;
  const isPercent = group === 'light' && expose.name === 'brightness';
  const percent = (value: number): unknown => (isPercent ? Math.round((value / max) * 100) : value);
  switch (type) {
    case 'binary':
      return [
        { sent: expose.value_on, shown: true },
        { sent: expose.value_off, shown: false },
      ];
    case 'numeric':
      return [min, max].map((value) => ({ sent: value, shown: percent(value) }));
    case 'enum':
      return values.slice(0, 2).map((value) => ({ sent: value, shown: String(value) }));
    case 'list':
    case 'composite':
      return [{ sent: [1, { a: 2 }], shown: '[1,{"a":2}]' }];
    default:
      return [{ sent: 'some text', shown: 'some text' }];
  }
}

function nested([name = '', ...rest]: readonly string[], value: unknown): Record<string, unknown> {
  return { [name]: rest.length === 0 ? value : nested(rest, value) };
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => ownValue(inner as Record<string, unknown>, name), value);
}

function tryReading({ plan }: Announced, leaf: Leaf): void {
  const key = plan.properties.find(({ path }) => path.join('.') === leaf.path.join('.'))?.key ?? '';
  const isShown = samplesOf(leaf).every(({ sent, shown }) => {
    const report = readState(plan, nested(leaf.path, sent));
    return report !== null && ownValue(report.state, key) === shown;
  });
  if (isShown) counts.shown += 1;
  else miss(`not shown: ${leaf.expose.type} ${leaf.path.join('.')}`);
}

/** Tells the device the value, as a control made from its type would, and reports what was written as Zigbee2MQTT does. */
function tryCommand(announced: Announced, type: DeviceType, leaf: Leaf): void {
  const { plan } = announced;
  const property = plan.properties.find(({ path }) => path.join('.') === leaf.path.join('.'));
  const command = type.commands.find(
    ({ action, params }) =>
      Object.hasOwn(params?.properties ?? {}, property?.key ?? '') ||
      plan.actions[action]?.some(({ path }) => path.join('.') === leaf.path.join('.')),
  );
  if (command === undefined || property === undefined)
    return miss(`no command: ${leaf.expose.type} ${leaf.path.join('.')}`);
  const names = Object.keys(command.params?.properties ?? {});
  const isMany = command.params?.required?.length === 0;
  const params = Object.fromEntries((isMany ? [property.key] : names).map((name) => [name, valueFor(name, type)]));
  const checked = checkCommand(type, command.action, params);
  if (checked.kind !== 'good') return miss(`refused: ${JSON.stringify(checked)}`);
  const written = commandPayload(plan, { action: command.action, ...params, commandId: 'one' });
  const payload = JSON.parse(JSON.stringify(written)) as unknown;
  if (at(payload, leaf.path) === undefined) return miss(`not written: ${leaf.expose.type} ${leaf.path.join('.')}`);
  counts.commanded += 1;
  if (leaf.expose.type !== 'text' && names.length === 1) counts.onPage += 1;
  const report = readState(plan, payload);
  const state = { kind: 'state', deviceId: 'one', at: 1, state: report?.state ?? {} } as const;
  const confirmation = confirmationOf(type, command.action, params, { [property.key]: 'before' });
  // Without a report that could confirm it, it counts once the gateway has taken it.
  if (confirmation.by === 'acknowledgement') counts.taken += 1;
  else if (isConfirmedBy(confirmation, state, 0)) counts.confirmed += 1;
  else miss(`not confirmed: ${leaf.expose.type} ${leaf.path.join('.')} ${JSON.stringify(written)}`);
}

/** What somebody would choose: a value in the middle of the range, the last of a choice. */
function valueFor(name: string, type: DeviceType): unknown {
  const parameters = type.commands.map(({ params }) => ownValue(params?.properties, name));
  const parameter = parameters.find((one) => one !== undefined);
  if (parameter?.type === 'boolean') return true;
  if (parameter === undefined || parameter.type === 'string') return parameter?.enum?.at(-1) ?? '[1,2]';
  const { minimum = 0, maximum = minimum + 10 } = parameter;
  return Math.max(minimum, Math.min(Math.round((minimum + maximum) / 2), maximum));
}

function tryMutants(count: number): { count: number; described: number; faults: string[] } {
  const random = createRandom(Number(flags.seed));
  const faults: string[] = [];
  let described = 0;
  for (let done = 0; done < count; done += 1) {
    const definition = definitions[Math.floor(random() * definitions.length)]!;
    // As it comes over MQTT: JSON has no holes and nothing undefined.
    const entry: unknown = JSON.parse(JSON.stringify(mutateJson(entryOf(definition), random)) ?? 'null');
    try {
      const announced = describe(entry);
      if (announced === null) continue;
      described += 1;
      const { firmwareVersion: _version, chip: _chip, ...words } = announced.words;
      const text = JSON.stringify(words);
      const read = readDeviceType(JSON.parse(text));
      if (read.kind === 'invalid') faults.push(`no type: ${read.faults[0]}`);
      if (Buffer.byteLength(text) > maxDeviceTypeBytes) faults.push(`a type of ${Buffer.byteLength(text)} bytes`);
      readState(announced.plan, mutateJson({ state: 'ON', brightness: 1, color: { x: 1 } }, random));
      for (const { action } of announced.words.commands as { action: string }[])
        commandPayload(announced.plan, { action });
    } catch (error) {
      faults.push(`${String(error)}: ${JSON.stringify(entry).slice(0, 300)}`);
    }
  }
  return { count, described, faults };
}

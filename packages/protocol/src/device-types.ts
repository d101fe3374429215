import { Type, type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { commonActions } from './common-commands.ts';
import { isInherited } from './own-value.ts';
import { Id } from './rest.ts';
import { errorWords } from './schema-words.ts';
import { turning } from './text-fields.ts';
import { typeNamePattern, typeNameWords } from './type-names.ts';

/**
 * What a device of a type reports and understands (contracts, section 8a). A type is data: the built-in ones are JSON files of this form
 * (`builtin-device-types.ts`), others come from files of the station's owner, from a firmware manifest or from a handshake.
 */

const closed = { additionalProperties: false } as const;
const TypeName = Type.String({ pattern: typeNamePattern, expected: typeNameWords });
const plainText = {
  pattern: `^[^\\u0000-\\u001f\\u007f${turning}]+$`,
  expected: 'text without control characters, and without those that change the direction of writing',
} as const;
const Key = Type.String({ minLength: 1, maxLength: 64, ...plainText });
const Name = Type.String({ minLength: 1, maxLength: 64, ...plainText });
const Names = Type.Record(
  Type.String({ pattern: '^[a-z]{2,3}$', expected: 'a code of a language, such as "en"' }),
  Name,
  {
    maxProperties: 32,
    description: 'By language (ISO 639), e.g. "en". Without one, the key is shown in words.',
  },
);
/** Beyond these a control has no sensible steps, and a difference is no number any more. */
const largest = 1e15;
const Bound = Type.Number({ minimum: -largest, maximum: largest });
const Scalar = Type.Union([Type.Boolean(), Type.Number(), Type.String({ maxLength: 256 })]);

/** One value of a device's state. */
export const Capability = Type.Object(
  {
    key: Key,
    kind: Type.Enum(['boolean', 'number', 'text', 'enum']),
    unit: Type.Optional(Type.String({ minLength: 1, maxLength: 16, ...plainText, description: 'SI symbol or %.' })),
    min: Type.Optional(Bound),
    max: Type.Optional(Bound),
    step: Type.Optional(Type.Number({ minimum: 1e-9, maximum: largest })),
    values: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
        minItems: 1,
        maxItems: 64,
        description: 'Of an enum.',
      }),
    ),
    names: Type.Optional(Names),
    valueNames: Type.Optional(
      Type.Record(Type.String({ maxLength: 64 }), Names, {
        maxProperties: 64,
        description: 'Of "true" and "false", or of the values of an enum.',
      }),
    ),
  },
  closed,
);
export type Capability = Static<typeof Capability>;

/** One parameter, as JSON Schema. Only these keywords: a type may come from a device, and a pattern could block the station. */
const Parameter = Type.Object(
  {
    type: Type.Enum(['boolean', 'number', 'integer', 'string']),
    minimum: Type.Optional(Bound),
    maximum: Type.Optional(Bound),
    maxLength: Type.Optional(Type.Integer({ minimum: 1, maximum: 512 })),
    enum: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { minItems: 1, maxItems: 64 })),
  },
  closed,
);
export type Parameter = Static<typeof Parameter>;

const CommandType = Type.Object(
  {
    action: Key,
    params: Type.Optional(
      Type.Object(
        {
          type: Type.Literal('object'),
          properties: Type.Record(Key, Parameter, { maxProperties: 16 }),
          required: Type.Optional(Type.Array(Key, { maxItems: 16, description: 'Default: all of them.' })),
          additionalProperties: Type.Optional(Type.Literal(false)),
        },
        { ...closed, description: 'JSON Schema of the parameters. A parameter named like a capability sets it.' },
      ),
    ),
    sets: Type.Optional(
      Type.Record(Key, Scalar, { maxProperties: 16, description: 'Values of capabilities after the command.' }),
    ),
    confirmedBy: Type.Array(Key, {
      maxItems: 16,
      description: 'Capabilities whose report confirms the command; none: only an acknowledgement does.',
    }),
    repeatable: Type.Boolean({ description: 'Whether a second execution has no further effect.' }),
    names: Type.Optional(Names),
  },
  closed,
);
export type CommandType = Static<typeof CommandType>;

const EventType = Type.Object(
  {
    action: Key,
    kind: Type.Enum(['device_event', 'user_event']),
    names: Type.Optional(Names),
  },
  closed,
);
export type EventType = Static<typeof EventType>;

export const DeviceType = Type.Object(
  {
    type: TypeName,
    category: Type.Enum(['sensor', 'actuator']),
    icon: Type.Optional(
      Type.String({
        pattern: '^[a-z0-9-]{1,32}$',
        expected: '1 to 32 of the characters a-z, 0-9 and "-"',
        description: 'Unknown ones show a chip.',
      }),
    ),
    names: Type.Optional(Names),
    capabilities: Type.Array(Capability, { maxItems: 64, description: 'The most important one comes first.' }),
    commands: Type.Array(CommandType, { maxItems: 32, description: 'In addition to those of every device.' }),
    events: Type.Array(EventType, { maxItems: 32 }),
    primary: Type.Optional(
      Type.Object(
        { capability: Key, command: Type.Optional(Key) },
        { ...closed, description: 'What a tile shows large, and the command of its main action.' },
      ),
    ),
    handshakeTypes: Type.Optional(
      Type.Array(TypeName, { maxItems: 8, description: 'Other types that its devices name in their handshake.' }),
    ),
  },
  closed,
);
export type DeviceType = Static<typeof DeviceType>;

/**
 * GET /api/device-types (guest) → StationDeviceType[]. A type with `deviceIds` is what these devices say about themselves: it counts for them
 * alone, and two such types may have one name. A type without counts for every device that names it.
 */
export const StationDeviceType = Type.Object(
  {
    ...DeviceType.properties,
    deviceIds: Type.Optional(Type.Array(Id, { description: 'Left out: it counts for every device of its name.' })),
  },
  closed,
);
export type StationDeviceType = Static<typeof StationDeviceType>;
export const DeviceTypes = Type.Array(StationDeviceType);

/** The types of a station by name. */
export type DeviceTypeFinder = (type: string) => DeviceType | undefined;

/** Bytes of JSON that a description may have. */
export const maxDeviceTypeBytes = 32 * 1024;

const shape = Compile(DeviceType);

type ReadResult = { kind: 'ok'; deviceType: DeviceType } | { kind: 'invalid'; faults: string[] };

/**
 * Checks a description from outside. A description may leave out `category`, `commands` and `events`. Faults are English sentences with
 * the place (RFC 6901) first.
 */
export function readDeviceType(value: unknown): ReadResult {
  const inherited = findInherited(value);
  if (inherited !== null) return { kind: 'invalid', faults: [`"${inherited}" is no name for a key or an action`] };
  const completed = isRecord(value) ? withDefaults(value) : value;
  if (!shape.Check(completed)) {
    const faults = shape
      .Errors(completed)
      .map((error) => `${error.instancePath || '/'} ${errorWords(DeviceType, error)}`);
    return { kind: 'invalid', faults: faults.slice(0, 10) };
  }
  const faults = contradictionsOf(completed);
  return faults.length === 0 ? { kind: 'ok', deviceType: withoutDoubles(completed) } : { kind: 'invalid', faults };
}

/** A value that is listed twice is one. */
const withoutDoubles = ({ capabilities, commands, ...rest }: DeviceType): DeviceType => ({
  ...rest,
  capabilities: capabilities.map((one) => (one.values === undefined ? one : { ...one, values: once(one.values) })),
  commands: commands.map((one) =>
    one.params === undefined ? one : { ...one, params: withoutDoubledValues(one.params) },
  ),
});

type Params = NonNullable<CommandType['params']>;

const withoutDoubledValues = ({ properties, ...rest }: Params): Params => ({
  ...rest,
  properties: Object.fromEntries(
    Object.entries(properties).map(([name, one]) => [
      name,
      one.enum === undefined ? one : { ...one, enum: once(one.enum) },
    ]),
  ),
});

const once = (values: readonly string[]): string[] => [...new Set(values)];

/** A key anywhere, or the name of a capability or an action, that every object has; null: none. Does not recurse. */
function findInherited(value: unknown): string | null {
  const rest: unknown[] = [value];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    for (const [key, inner] of Object.entries(next) as [string, unknown][]) {
      if (isInherited(key)) return key;
      const isName = key === 'key' || key === 'action';
      if (isName && typeof inner === 'string' && isInherited(inner)) return inner;
      if (typeof inner === 'object' && inner !== null) rest.push(inner);
    }
  }
  return null;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function withDefaults(value: Record<string, unknown>): Record<string, unknown> {
  const { commands = [] } = value;
  const category = Array.isArray(commands) && commands.length > 0 ? 'actuator' : 'sensor';
  return { category, events: [], ...value, commands };
}

/** What the schema cannot say: names that refer to nothing, or that exist twice. */
function contradictionsOf({ capabilities, commands, events, primary }: DeviceType): string[] {
  const keys = new Set(capabilities.map(({ key }) => key));
  const actions = new Set(commands.map(({ action }) => action));
  const unknown = (place: string, key: string): string[] =>
    keys.has(key) ? [] : [`${place} names the capability "${key}", which does not exist`];
  return [
    ...duplicatesOf(capabilities.map(({ key }) => key)).map((key) => `/capabilities has "${key}" twice`),
    ...duplicatesOf(commands.map(({ action }) => action)).map((action) => `/commands has "${action}" twice`),
    ...duplicatesOf(events.map(({ action }) => action)).map((action) => `/events has "${action}" twice`),
    ...capabilities.flatMap(({ key, kind, values, min, max }, index) => [
      ...((kind === 'enum') === (values !== undefined)
        ? []
        : [`/capabilities/${index} "${key}": an enum needs values, and only an enum has them`]),
      ...(min !== undefined && max !== undefined && min >= max
        ? [`/capabilities/${index} "${key}": min is not below max`]
        : []),
    ]),
    ...commands.flatMap(({ action, params, sets = {}, confirmedBy }, index) => [
      ...(commonActions.includes(action) ? [`/commands/${index} "${action}" is a command of every device`] : []),
      ...[...confirmedBy, ...Object.keys(sets)].flatMap((key) => unknown(`/commands/${index}`, key)),
      ...(params?.required ?? []).flatMap((name) =>
        Object.hasOwn(params?.properties ?? {}, name)
          ? []
          : [`/commands/${index} requires the parameter "${name}", which does not exist`],
      ),
      ...Object.entries(params?.properties ?? {}).flatMap(([name, { minimum, maximum }]) =>
        minimum !== undefined && maximum !== undefined && minimum > maximum
          ? [`/commands/${index} the parameter "${name}": minimum is above maximum`]
          : [],
      ),
    ]),
    ...(primary === undefined ? [] : unknown('/primary', primary.capability)),
    ...(primary?.command === undefined || actions.has(primary.command)
      ? []
      : [`/primary names the command "${primary.command}", which does not exist`]),
  ];
}

const duplicatesOf = (names: readonly string[]): string[] => names.filter((name, at) => names.indexOf(name) !== at);

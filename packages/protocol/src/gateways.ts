import { type Static, Type } from 'typebox';
import { type DialectName, systemNames } from './gateway-systems.ts';
import { Nullable } from './nullable.ts';
import { Id, Time } from './rest.ts';
import { nameForm } from './text-fields.ts';

/** Gateways of other systems (contracts, section 16). */

const closed = { additionalProperties: false } as const;

export const Dialect = Type.Enum(Object.keys(systemNames) as DialectName[]);

const longestBaseTopic = 64;
const baseTopicPattern = '^(?!station(-out)?(/|$))[\\w-]+(/[\\w-]+)*$';

/** Levels of a topic; the station's own are refused. */
export const BaseTopic = Type.String({
  minLength: 1,
  maxLength: longestBaseTopic,
  pattern: baseTopicPattern,
  expected: 'levels of letters, digits, "_" and "-" with "/" between them, and not those of the station',
});
const baseTopic = new RegExp(baseTopicPattern);
export const isBaseTopic = (text: string): boolean => text.length <= longestBaseTopic && baseTopic.test(text);

const GatewayName = Type.String({ minLength: 1, maxLength: 64, ...nameForm });

/**
 * Whether a Zigbee2MQTT can call a device so: it becomes levels of topics below the base topic. `bridge` is the gateway's own, and the last level
 * is none that it adds.
 */
export function isForeignName(name: string): boolean {
  if (name.length > 200 || /[+#\u0000-\u001f\u007f]/.test(name)) return false;
  const levels = name.split('/');
  const last = levels.at(-1) ?? '';
  return levels[0] !== 'bridge' && !levels.includes('') && !['set', 'get', 'availability'].includes(last);
}

/** Why something that a gateway heard is not taken. */
const refusals = ['template', 'kind', 'outside', 'incomplete', 'group', 'elsewhere', 'no_room', 'too_large'] as const;
export type Refusal = (typeof refusals)[number];

export const NotSupported = Type.Object({
  name: Type.String({ description: 'Of the device and its part, or a topic.' }),
  reason: Type.Enum([...refusals], {
    description: [
      'template: a value that must be computed',
      'kind: the station knows no such part',
      'outside: its topics are outside of the trees of this gateway',
      'incomplete: it says too little, or what no device can say',
      'group: a group whose members have nothing in common, or are not known',
      'elsewhere: it comes through another gateway',
      'no_room, too_large: there is no room for it.',
    ].join('; '),
  }),
  detail: Nullable(Type.String({ description: 'Which template, kind or topic.' })),
});
export type NotSupported = Static<typeof NotSupported>;

export const Gateway = Type.Object({
  id: Id,
  name: Type.String(),
  dialect: Dialect,
  baseTopic: Type.String(),
  discoveryPrefix: Nullable(
    Type.String({ description: 'Where its devices announce themselves; null: below the base topic.' }),
  ),
  login: Type.String({ description: 'User name at the broker.' }),
  createdAt: Time,
  state: Type.Enum(['waiting', 'online', 'offline'], {
    description: 'waiting: nothing was heard of it since the station started.',
  }),
  heardAt: Nullable(Time),
  devices: Type.Integer({ description: 'Announced, and devices of the station.' }),
  removedDevices: Type.Integer({ description: 'Announced, and removed by people here.' }),
  notSupported: Type.Array(NotSupported, {
    maxItems: 100,
    description: 'What was heard since the station started, and could not be taken: the first hundred.',
  }),
  notSupportedCount: Type.Integer({ description: 'All of it, as far as it is remembered.' }),
});
export type Gateway = Static<typeof Gateway>;
export const Gateways = Type.Array(Gateway);

export const NewGateway = Type.Object(
  {
    name: GatewayName,
    dialect: Dialect,
    baseTopic: BaseTopic,
    /** Of systems that have one; left out: the usual one. */
    discoveryPrefix: Type.Optional(BaseTopic),
  },
  closed,
);
export type NewGateway = Static<typeof NewGateway>;

/** Shown once. */
export const GatewayLoginSheet = Type.Object({
  gateway: Gateway,
  login: Type.String(),
  password: Type.String(),
  isLoginMade: Type.Boolean({
    description: 'false: another system manages the logins of the broker; a person must make this one there.',
  }),
});
export type GatewayLoginSheet = Static<typeof GatewayLoginSheet>;

/** A system that was noticed and is not connected: a suggestion, which anybody in the network can cause. */
export const HeardSystem = Type.Object({
  dialect: Dialect,
  baseTopic: Type.String({ description: 'What a gateway would have that takes it.' }),
  topic: Type.String({ maxLength: 128, description: 'Topic of the last will that it was noticed by.' }),
  how: Type.Enum(['refused', 'published'], {
    description:
      'refused: the embedded broker refused its log-in; published: it is on a broker that another system manages.',
  }),
  seenAt: Time,
});
export type HeardSystem = Static<typeof HeardSystem>;
export const HeardSystems = Type.Array(HeardSystem, { maxItems: 8 });

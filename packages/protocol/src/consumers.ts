import { type Static, Type } from 'typebox';
import { BaseTopic } from './gateways.ts';
import { Nullable } from './nullable.ts';
import { Time } from './rest.ts';

/** Other systems that see and switch the station's devices (contracts, section 17). */

const closed = { additionalProperties: false } as const;

export const consumerKinds = ['home_assistant', 'zigbee2mqtt'] as const;
export const ConsumerKind = Type.Enum([...consumerKinds]);
export type ConsumerKind = Static<typeof ConsumerKind>;

/** As they call themselves, in every language. */
export const consumerNames: Readonly<Record<ConsumerKind, string>> = {
  home_assistant: 'Home Assistant',
  zigbee2mqtt: 'Zigbee2MQTT',
};

/** What they use unless somebody changed it there. */
export const defaultTopics: Readonly<Record<ConsumerKind, string>> = {
  home_assistant: 'homeassistant',
  zigbee2mqtt: 'zigbee2mqtt',
};

export const Consumer = Type.Object({
  kind: ConsumerKind,
  topic: Type.String({ description: 'Home Assistant: its discovery prefix. Zigbee2MQTT: the base topic.' }),
  login: Type.String({ description: 'User name at the broker.' }),
  createdAt: Time,
  isConnected: Nullable(Type.Boolean({ description: 'null: the broker does not say.' })),
  heardAt: Nullable(Time),
  devices: Type.Integer({ description: 'Shown there.' }),
  leftOut: Type.Integer({ description: 'Not shown there: they came from it, or there is no room for them.' }),
});
export type Consumer = Static<typeof Consumer>;
/** Those that are switched on. */
export const Consumers = Type.Array(Consumer);

export const NewConsumer = Type.Object({ topic: BaseTopic }, closed);
export type NewConsumer = Static<typeof NewConsumer>;

/** Shown once. */
export const ConsumerLoginSheet = Type.Object({
  consumer: Consumer,
  login: Type.String(),
  password: Type.String(),
  isLoginMade: Type.Boolean({
    description: 'false: another system manages the logins of the broker; a person must make this one there.',
  }),
});
export type ConsumerLoginSheet = Static<typeof ConsumerLoginSheet>;

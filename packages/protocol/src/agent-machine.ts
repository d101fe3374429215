import { Type, type Static } from 'typebox';
import { Nullable } from './nullable.ts';

/** Bodies of the agent's routes of the machine: GET /machine, POST /machine/restart, GET /logs, POST /services/restart. */

const Disk = Type.Object({
  path: Type.String({ description: 'A folder on it.' }),
  totalBytes: Type.Number(),
  freeBytes: Type.Number({ description: 'For programs that are not root.' }),
  writtenBytesPerDay: Nullable(
    Type.Number({
      description:
        'By everybody, the mean since the machine was started; null: that was less than an hour ago, or it is no disk.',
    }),
  ),
  lifeUsedPercent: Nullable(
    Type.Integer({
      description: 'Used share of its life, in steps of 10, more than 100 beyond it; null: the card does not say.',
    }),
  ),
});

/** What a Raspberry Pi says about its power. `before`: since it was switched on. */
const Power = Type.Object({
  isLow: Type.Boolean({ description: 'Under-voltage now.' }),
  wasLow: Type.Boolean(),
  isSlowed: Type.Boolean({ description: 'The processor is slowed down now, because of heat or under-voltage.' }),
  wasSlowed: Type.Boolean(),
});

export const Machine = Type.Object({
  model: Nullable(Type.String()),
  cores: Type.Integer(),
  load: Type.Array(Type.Number(), { description: 'Of 1, 5 and 15 minutes.' }),
  memory: Nullable(
    Type.Object({ totalBytes: Type.Number(), availableBytes: Type.Number({ description: 'Without using swap.' }) }),
  ),
  disks: Type.Array(Disk),
  temperature: Nullable(Type.Number({ description: 'The hottest sensor, degrees Celsius.' })),
  power: Nullable(Power),
  uptimeSeconds: Type.Number(),
  canRestart: Type.Boolean({ description: 'Whether people can restart the machine.' }),
  now: Type.String({ description: 'The clock of the machine. ISO 8601, UTC, milliseconds.' }),
});
export type Machine = Static<typeof Machine>;

const Service = Type.String({ pattern: '^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}$', expected: 'the name of a service' });

export const ServiceRestartRequest = Type.Object({ service: Service }, { additionalProperties: false });
export type ServiceRestartRequest = Static<typeof ServiceRestartRequest>;

/** The log of the agent itself, beside those of services. */
export const agentLog = 'agent';

export const LogQuery = Type.Object(
  {
    service: Type.Optional(Service),
    since: Type.Optional(
      Type.String({
        pattern: '^[0-9]{1,15}$',
        expected: 'milliseconds since 1970',
        description: 'Milliseconds since 1970; absent: the last lines.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type LogQuery = Static<typeof LogQuery>;

/** One line of GET /logs. */
export const LogLine = Type.Object({
  service: Type.String({ description: 'Of the stack, or `agent`.' }),
  time: Type.String({ description: 'ISO 8601, UTC, up to nanoseconds.' }),
  text: Type.String(),
});
export type LogLine = Static<typeof LogLine>;

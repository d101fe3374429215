import { Type, type Static } from 'typebox';
import { Time } from './rest.ts';

/**
 * GET /api/devices/:id/history?capability=&from=&to=&resolution= (user) → DeviceHistory, at most 256 KiB. `to` defaults to now.
 * The same parameters at /history.csv → text/csv (RFC 4180, UTC times): samples or transitions while they are kept, hours before that.
 */
export const HistoryQuery = Type.Object(
  {
    capability: Type.String({ minLength: 1, maxLength: 64 }),
    from: Type.String({ description: 'ISO 8601.' }),
    to: Type.Optional(Type.String({ description: 'ISO 8601.' })),
    resolution: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Milliseconds. The answer may be coarser, and says what it is.' }),
    ),
  },
  { additionalProperties: false },
);
export const HistoryExportQuery = Type.Omit(HistoryQuery, ['resolution'], { additionalProperties: false });

/** Intervals begin at multiples of the resolution since the epoch, whatever `from` is. A finished interval never changes. */
const range = {
  from: Type.String({ description: 'Start of the first interval; at or before the `from` of the request.' }),
  to: Type.String({ description: 'End of the last interval, or the time of the answer.' }),
  resolutionMs: Type.Integer(),
  gaps: Type.Array(Type.Object({ from: Time, to: Time }), {
    description: 'The device was offline or the station did not run. Those shorter than half an interval are left out.',
  }),
};

export const NumberPoint = Type.Object({
  at: Type.String({ description: 'Start of the interval.' }),
  value: Type.Number({ description: 'Average.' }),
  lowest: Type.Number(),
  highest: Type.Number(),
  count: Type.Integer({ description: 'How many values were reported.' }),
});
export type NumberPoint = Static<typeof NumberPoint>;

export const TransitionPoint = Type.Object({
  at: Type.String({ description: 'Since when; with `share`, start of the interval.' }),
  value: Type.Union([Type.Boolean(), Type.String(), Type.Null()], {
    description: 'Holds until the next point. Null: not known. With `share`: the value that held longest.',
  }),
  share: Type.Optional(
    Type.Number({ description: 'Many changes: part of the interval, without gaps, in which `value` held.' }),
  ),
  changes: Type.Optional(Type.Integer({ description: 'With `share`: how many. 0: the value only continues.' })),
});
export type TransitionPoint = Static<typeof TransitionPoint>;

export const NumberHistory = Type.Object({ kind: Type.Literal('number'), ...range, points: Type.Array(NumberPoint) });
export type NumberHistory = Static<typeof NumberHistory>;
export const TransitionHistory = Type.Object({
  kind: Type.Literal('transitions', { description: 'Booleans and short texts.' }),
  ...range,
  points: Type.Array(TransitionPoint),
});
export type TransitionHistory = Static<typeof TransitionHistory>;
export const DeviceHistory = Type.Union([NumberHistory, TransitionHistory]);
export type DeviceHistory = Static<typeof DeviceHistory>;

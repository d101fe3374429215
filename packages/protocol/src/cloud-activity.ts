import { Type, type Static } from 'typebox';
import { legacyMessageTypes } from './cloud-messages.ts';
import { cloudMethods, type CloudMethod } from './cloud-rpc.ts';
import { Time } from './rest.ts';

/** What the cloud asked of the station, as its people see it. */

const methods = Object.keys(cloudMethods) as CloudMethod[];
export const cloudRequests = [...methods, ...legacyMessageTypes] as const;
export type CloudRequest = (typeof cloudRequests)[number];

/**
 * GET /api/cloud/activity (user) → CloudActivity[], newest first, at most 50. Kept in memory: after a restart of the backend it begins anew. What
 * was no call that the station knows is not in it.
 */
export const CloudActivity = Type.Object({
  at: Time,
  request: Type.Enum([...cloudRequests]),
  deviceId: Type.Union([Type.String(), Type.Null()], { description: 'Of a command.' }),
  action: Type.Union([Type.String(), Type.Null()], { description: 'Of a command.' }),
  outcome: Type.Enum(['done', 'refused', 'failed'], {
    description: 'refused: the station did not do it, and said why; failed: something went wrong.',
  }),
  times: Type.Integer({
    description: 'How often, when the same was asked several times in a row. `at` is the last time.',
  }),
});
export type CloudActivity = Static<typeof CloudActivity>;
export const CloudActivities = Type.Array(CloudActivity);

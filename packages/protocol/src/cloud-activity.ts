import { Type, type Static } from 'typebox';
import { legacyMessageTypes } from './cloud-messages.ts';
import { cloudMethods, type CloudMethod } from './cloud-rpc.ts';
import { Time } from './rest.ts';

/** Calls of the cloud, as the people of the station see them. */

const methods = Object.keys(cloudMethods) as CloudMethod[];
export const cloudRequests = [...methods, ...legacyMessageTypes] as const;
export type CloudRequest = (typeof cloudRequests)[number];

/**
 * GET /api/cloud/activity (user) → CloudActivity[], newest first, at most 50. Kept in memory; empty after a restart of the backend. Unknown
 * methods are not in it.
 */
export const CloudActivity = Type.Object({
  at: Time,
  request: Type.Enum([...cloudRequests]),
  deviceId: Type.Union([Type.String(), Type.Null()], { description: 'Only for commands.' }),
  action: Type.Union([Type.String(), Type.Null()], { description: 'Only for commands.' }),
  outcome: Type.Enum(['done', 'refused', 'failed'], {
    description: 'refused: the station did not do it and gave the reason; failed: an error occurred.',
  }),
  times: Type.Integer({
    description: 'Number of equal calls in a row. `at` is the time of the last one.',
  }),
});
export type CloudActivity = Static<typeof CloudActivity>;
export const CloudActivities = Type.Array(CloudActivity);

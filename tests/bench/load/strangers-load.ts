import type { NetConnectOpts } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { flood } from '../../rig/strangers.ts';
import { answerRequests } from './pinned.ts';

/** Bytes as Base64: they cross a channel. */
export type StrangersRequest = {
  to: NetConnectOpts;
  count: number;
  seconds: number;
  head: string;
  body: string;
};

const bytesOf = (text: string): Buffer => Buffer.from(text, 'base64');

/** Answers how many connections were made. */
answerRequests<StrangersRequest>(async ({ to, count, seconds, head, body }) => {
  await using running = await flood(to, count, { head: bytesOf(head), body: bytesOf(body) });
  await sleep(seconds * 1_000);
  return running.opened();
});

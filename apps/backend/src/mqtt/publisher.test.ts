import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnansweredError } from '../core/commands.ts';
import { linkTo, startForgetfulBroker } from '../../testing/forgetful-broker.ts';
import { until } from '../../testing/until.ts';

test('a message that was sent without an answer differs from one that was never sent', async () => {
  await using broker = await startForgetfulBroker(5);
  const link = linkTo(broker.url);
  await until('it listens', link.isReady);
  broker.acknowledges = false;
  await assert.rejects(link.publish('lock/command', 'unlock', 200), UnansweredError);
  const publishing = link.publish('lock/command', 'lock', 15_000);
  await until('it is under way', () => broker.received.length === 2);
  await Promise.all([assert.rejects(publishing, UnansweredError), link[Symbol.asyncDispose]()]);
  const isGivenUp = (error: unknown): boolean => error instanceof Error && !(error instanceof UnansweredError);
  await assert.rejects(link.publish('lock/command', 'lock', 15_000), isGivenUp);
  assert.equal(broker.received.length, 2);
});

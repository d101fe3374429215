import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerFact } from './stack-ports.ts';
import { createServiceList } from './stack-status.ts';
import { emptyJournal } from './journal.ts';

const keeper = { isLoaded: () => true, journal: () => emptyJournal };
const container: ContainerFact = {
  id: '1',
  service: 'backend',
  image: 'a/backend:1',
  imageId: 'sha256:1',
  state: 'running',
  health: 'healthy',
  restartCount: 0,
  exitCode: 0,
};

test('an engine that does not answer leaves the list empty, is asked once, and counts again when it answers', async () => {
  let asked = 0;
  const answer = Promise.withResolvers<ContainerFact[]>();
  const containers = (): Promise<ContainerFact[]> => {
    asked += 1;
    return asked === 1 ? answer.promise : Promise.resolve([container]);
  };
  const services = createServiceList({ engine: { containers }, keeper }, { timeoutMs: 20 });
  assert.deepEqual(await services(), []);
  assert.deepEqual(await services(), []);
  assert.equal(asked, 1);
  answer.reject(new Error('broken off'));
  assert.deepEqual(await services(), []);
  const { image, state, health } = container;
  assert.deepEqual(await services(), [{ name: 'backend', image, state, health }]);
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPort80Lock } from './proxy-service.ts';
import { restartService } from './service-restart.ts';
import type { ContainerFact } from './stack-ports.ts';

const signal = new AbortController().signal;
const container = (service: string, state: string): ContainerFact => ({
  id: service,
  service,
  image: service,
  imageId: service,
  state,
  health: 'none',
  restartCount: 0,
  exitCode: 0,
});

function setUp(containers: ContainerFact[], onStop: () => void = () => undefined) {
  const done: string[] = [];
  const lock = createPort80Lock();
  const engine = {
    containers: async () => containers,
    setRunning: async (service: string, running: boolean) => {
      done.push(`${running ? 'start' : 'stop'} ${service}`);
      if (!running) onStop();
    },
  };
  const stack = { untilProxyIsFree: async () => void done.push('work ends') };
  return {
    done,
    lock,
    restart: (service: string) => restartService({ engine, stack, lock, proxy: 'proxy' }, service, signal),
  };
}

describe('a service whose files changed', () => {
  it('is restarted when it runs, after the work of the stack', async () => {
    const { done, restart } = setUp([container('proxy', 'running'), container('mqtt', 'running')]);
    await restart('proxy');
    assert.deepEqual(done, ['work ends', 'stop proxy', 'start proxy']);
  });

  it('stays stopped when it does not run, or is not there', async () => {
    const { done, restart } = setUp([container('proxy', 'exited')]);
    await restart('proxy');
    await restart('mqtt');
    assert.deepEqual(done, ['work ends', 'work ends']);
  });

  it('leaves port 80 to the setup page of the hotspot', async () => {
    const blocked = setUp([container('proxy', 'running')]);
    blocked.lock.take();
    await blocked.restart('proxy');
    assert.deepEqual(blocked.done, ['work ends']);
    const meanwhile = setUp([container('proxy', 'running')], () => meanwhile.lock.take());
    await meanwhile.restart('proxy');
    assert.deepEqual(meanwhile.done, ['work ends', 'stop proxy']);
  });

  it('of the broker is restarted while the hotspot is open', async () => {
    const { done, lock, restart } = setUp([container('mqtt', 'running')]);
    lock.take();
    await restart('mqtt');
    assert.deepEqual(done, ['work ends', 'stop mqtt', 'start mqtt']);
  });
});

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { createLogger } from '@station/kit/logger';
import { events, type AgentEvent } from '@station/protocol/events';
import { createNetworkManager } from './network-manager.ts';

it('takes a machine without a message bus for one without a network manager, and logs no error', async () => {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'no-bus-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const told: AgentEvent[] = [];
  const logger = createLogger({ catalogue: events, clock: systemClock, level: 'debug', secrets: [], write: () => {} });
  logger.subscribe((event) => void told.push(event));
  {
    await using radio = createNetworkManager({
      busAddress: `unix:path=${join(folder, 'system_bus_socket')}`,
      dnsmasqFolder: join(folder, 'dnsmasq'),
      interface: null,
      country: null,
      clock: systemClock,
      logger,
    });
    const signal = new AbortController().signal;
    await radio.stopHotspot();
    const { manager, radio: device } = await radio.observe();
    assert.deepEqual([manager, device], ['absent', null]);
    assert.deepEqual(await radio.scan({}, signal), []);
  }
  assert.deepEqual(told, []);
});

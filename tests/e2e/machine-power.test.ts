import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Message, sessionBus } from '@jellybrick/dbus-next';
import { createMachinePower } from '@station/agent/machine/adapters/machine-power';
import { systemClock } from '@station/kit/clock';
import { startPrivateBus } from '../rig/private-bus.ts';

/** What the agent asks of systemd-logind, on a real message bus. */
async function startLogind(address: string) {
  const logind = { answer: 'challenge', asked: [] as unknown[] };
  const bus = sessionBus({ busAddress: address, authMethods: ['EXTERNAL'] });
  await once(bus, 'connect');
  bus.addMethodHandler((message: Message) => {
    if (message.path !== '/org/freedesktop/login1') return false;
    if (message.member === 'Reboot') logind.asked.push(message.body[0]);
    const [signature, body] = message.member === 'CanReboot' ? ['s', [logind.answer]] : ['', []];
    bus.send(Message.newMethodReturn(message, signature, body));
    return true;
  });
  await bus.requestName('org.freedesktop.login1');
  return Object.assign(logind, { [Symbol.dispose]: () => bus.disconnect() });
}

test('the agent restarts the machine through logind, and only where it may', async () => {
  await using bus = await startPrivateBus();
  const open = () => createMachinePower({ clock: systemClock, busAddress: bus.address });
  const power = open();
  assert.equal(await power.canRestart(), false, 'without logind');
  using logind = await startLogind(bus.address);
  const other = open();
  assert.equal(await other.canRestart(), false, 'a person would have to confirm it');
  logind.answer = 'yes';
  assert.equal(await power.canRestart(), true, 'logind is there later');
  await power.restart();
  assert.deepEqual(logind.asked, [false]);
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { runBackend } from '../testing/running-backend.ts';
import { until } from '../testing/until.ts';

type StateMessage = { type: string; deviceId: string; state: { round: number } };

const devices = 20;
const rounds = 2_000;
/** Makes all of it some 40 MB: far more than the sockets of both sides take. */
const filler = 'x'.repeat(1_000);

test('a browser that does not read is not sent everything, but the latest state of each device; the others are told at once', async () => {
  await using running = await runBackend();
  const { accessToken: token } = await running.setUp();
  const open = async () => {
    const socket = new WebSocket(`${running.backend.url.replace('http', 'ws')}/ws`);
    const last = new Map<string, number>();
    let heard = 0;
    const greeted = new Promise<void>((resolve) => {
      socket.on('message', (data: Buffer) => {
        const message = JSON.parse(data.toString()) as StateMessage;
        if (message.type === 'hello') resolve();
        if (message.type !== 'device_state') return;
        heard++;
        last.set(message.deviceId, message.state.round);
      });
    });
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'auth', token }));
    await greeted;
    const isUpToDate = (): boolean => last.size === devices && [...last.values()].every((round) => round === rounds);
    return { socket, isUpToDate, heard: () => heard };
  };
  const [frozen, awake] = [await open(), await open()];
  frozen.socket.pause();
  for (let round = 1; round <= rounds; round++) {
    const reports = Array.from({ length: devices }, (_, n) => ({
      kind: 'state' as const,
      deviceId: `device-${n}`,
      at: round,
      state: { round, filler },
    }));
    running.backend.deviceEvents.emit({ kind: 'reports', reports });
    // As from a broker: what comes in leaves room for what goes out.
    await new Promise(setImmediate);
  }
  await until('the browser that reads has it all', awake.isUpToDate);
  assert.equal(frozen.isUpToDate(), false);
  frozen.socket.resume();
  await until('the other one has the latest of each', frozen.isUpToDate);
  assert.ok(frozen.heard() < (devices * rounds) / 2, `${frozen.heard()} messages`);
  assert.equal(frozen.socket.readyState, WebSocket.OPEN, 'it was not thrown out');
  frozen.socket.close();
  awake.socket.close();
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { runBackend } from '../../testing/running-backend.ts';
import { until } from '../../testing/until.ts';

type StateMessage = { type: string; deviceId: string; state: { round: number } };

const devices = 20;
const rounds = 2_000;
/** Makes about 40 MB in total: far more than the socket buffers of both sides. */
const filler = 'x'.repeat(1_000);

test('a browser that stops reading gets only the latest state of each device; others get every state at once', async () => {
  await using running = await runBackend();
  const { accessToken: token } = await running.setUp();
  const open = async () => {
    const socket = new WebSocket(`${running.backend.url.replace('http', 'ws')}/ws`);
    const last = new Map<string, number>();
    let received = 0;
    const helloReceived = new Promise<void>((resolve) => {
      socket.on('message', (data: Buffer) => {
        const message = JSON.parse(data.toString()) as StateMessage;
        if (message.type === 'hello') resolve();
        if (message.type !== 'device_state') return;
        received++;
        last.set(message.deviceId, message.state.round);
      });
    });
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'auth', token }));
    await helloReceived;
    const isUpToDate = (): boolean => last.size === devices && [...last.values()].every((round) => round === rounds);
    return { socket, isUpToDate, received: () => received };
  };
  const frozen = await open();
  const awake = await open();
  frozen.socket.pause();
  for (let round = 1; round <= rounds; round++) {
    const reports = Array.from({ length: devices }, (_, n) => ({
      kind: 'state' as const,
      deviceId: `device-${n}`,
      at: round,
      state: { round, filler },
    }));
    running.backend.deviceEvents.emit({ kind: 'reports', reports });
    // As with a broker: other work runs between two incoming batches.
    await new Promise(setImmediate);
  }
  await until('the browser that reads has it all', awake.isUpToDate);
  assert.equal(frozen.isUpToDate(), false);
  frozen.socket.resume();
  await until('the other one has the latest of each', frozen.isUpToDate);
  assert.ok(frozen.received() < (devices * rounds) / 2, `${frozen.received()} messages`);
  assert.equal(frozen.socket.readyState, WebSocket.OPEN, 'it is still connected');
  frozen.socket.close();
  awake.socket.close();
});

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test, type TestContext } from 'node:test';
import { createTarpit } from './tarpit.ts';

test('a connection is read no more, and ends after two seconds', (t) => {
  const running = start(t);
  const socket = running.hold();
  assert.equal(socket.isPaused, true);
  running.passes(1_980);
  assert.equal(socket.isDestroyed, false);
  running.passes(40);
  assert.equal(socket.isDestroyed, true);
});

test('those that came together end one after the other, fifty a second', (t) => {
  const running = start(t);
  const sockets = Array.from({ length: 200 }, running.hold);
  running.passes(3_000);
  const ended = sockets.filter(({ isDestroyed }) => isDestroyed);
  assert.deepEqual(ended, sockets.slice(0, ended.length), 'the oldest first');
  assert.ok(ended.length >= 48 && ended.length <= 52, `${ended.length} ended in one second`);
});

test('of more than five hundred the oldest ends at once', (t) => {
  const running = start(t);
  const sockets = Array.from({ length: 502 }, running.hold);
  assert.deepEqual(
    sockets.filter(({ isDestroyed }) => isDestroyed),
    sockets.slice(0, 2),
  );
});

test('who goes by itself takes no place and no turn', (t) => {
  const running = start(t);
  const gone = Array.from({ length: 499 }, running.hold);
  const left = running.hold();
  for (const socket of gone) socket.destroy();
  running.hold();
  assert.equal(left.isDestroyed, false);
  running.passes(2_040);
  assert.equal(left.isDestroyed, true);
});

class FakeSocket extends EventEmitter {
  isPaused = false;
  isDestroyed = false;
  pause(): this {
    this.isPaused = true;
    return this;
  }
  destroy(): this {
    this.isDestroyed = true;
    this.emit('close');
    return this;
  }
}

function start(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] });
  let now = 0;
  const tarpit = createTarpit({ now: () => now });
  return {
    hold: (): FakeSocket => {
      const socket = new FakeSocket();
      tarpit.hold(socket);
      return socket;
    },
    passes: (ms: number): void => {
      for (const end = now + ms; now < end; now += 20) t.mock.timers.tick(20);
    },
  };
}

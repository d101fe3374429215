import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createEmitter } from './emitter.ts';

describe('an emitter', () => {
  it('calls each listener with each value until it is disposed', () => {
    const emitter = createEmitter<number>();
    const received: string[] = [];
    const first = emitter.subscribe((value) => received.push(`first ${value}`));
    using _second = emitter.subscribe((value) => received.push(`second ${value}`));
    emitter.emit(1);
    first[Symbol.dispose]();
    emitter.emit(2);
    assert.deepEqual(received, ['first 1', 'second 1', 'second 2']);
    assert.equal(emitter.size(), 1);
  });

  it('treats two subscriptions of one function separately', () => {
    const emitter = createEmitter<number>();
    let calls = 0;
    const listener = (): void => void (calls += 1);
    const first = emitter.subscribe(listener);
    using _second = emitter.subscribe(listener);
    first[Symbol.dispose]();
    emitter.emit(1);
    assert.equal(calls, 1);
  });

  it('calls neither a listener that was added nor one that was removed during emit', () => {
    const emitter = createEmitter<number>();
    const received: string[] = [];
    emitter.subscribe(() => {
      left[Symbol.dispose]();
      emitter.subscribe(() => received.push('came'));
    });
    const left = emitter.subscribe(() => received.push('left'));
    emitter.emit(1);
    assert.deepEqual(received, []);
  });

  it('calls the other listeners when one throws, then reports or throws the error', () => {
    const errors: unknown[] = [];
    const received: number[] = [];
    const fails = (): never => {
      throw new Error('failed');
    };
    const emitter = createEmitter<number>((error) => errors.push(error));
    emitter.subscribe(fails);
    emitter.subscribe((value) => received.push(value));
    emitter.emit(1);
    const withoutHandler = createEmitter<number>();
    withoutHandler.subscribe(fails);
    withoutHandler.subscribe((value) => received.push(value));
    assert.throws(() => withoutHandler.emit(2), { message: 'failed' });
    assert.deepEqual([errors.length, received], [1, [1, 2]]);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createEmitter } from './emitter.ts';

describe('an emitter', () => {
  it('calls each listener with each value until it is disposed', () => {
    const emitter = createEmitter<number>();
    const heard: string[] = [];
    const first = emitter.subscribe((value) => heard.push(`first ${value}`));
    using _second = emitter.subscribe((value) => heard.push(`second ${value}`));
    emitter.emit(1);
    first[Symbol.dispose]();
    emitter.emit(2);
    assert.deepEqual(heard, ['first 1', 'second 1', 'second 2']);
    assert.equal(emitter.size(), 1);
  });

  it('keeps two subscriptions of one function apart', () => {
    const emitter = createEmitter<number>();
    let calls = 0;
    const listener = (): void => void (calls += 1);
    const first = emitter.subscribe(listener);
    using _second = emitter.subscribe(listener);
    first[Symbol.dispose]();
    emitter.emit(1);
    assert.equal(calls, 1);
  });

  it('calls neither who came nor who left while a value is on its way', () => {
    const emitter = createEmitter<number>();
    const heard: string[] = [];
    emitter.subscribe(() => {
      left[Symbol.dispose]();
      emitter.subscribe(() => heard.push('came'));
    });
    const left = emitter.subscribe(() => heard.push('left'));
    emitter.emit(1);
    assert.deepEqual(heard, []);
  });

  it('calls the other listeners when one throws, and hands over or throws the error', () => {
    const errors: unknown[] = [];
    const heard: number[] = [];
    const fails = (): never => {
      throw new Error('failed');
    };
    const emitter = createEmitter<number>((error) => errors.push(error));
    emitter.subscribe(fails);
    emitter.subscribe((value) => heard.push(value));
    emitter.emit(1);
    const untold = createEmitter<number>();
    untold.subscribe(fails);
    untold.subscribe((value) => heard.push(value));
    assert.throws(() => untold.emit(2), { message: 'failed' });
    assert.deepEqual([errors.length, heard], [1, [1, 2]]);
  });
});

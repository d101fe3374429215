import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JSONRPCRequest, JSONRPCResponse } from 'json-rpc-2.0';
import { rpcErrors } from '@station/protocol/cloud-rpc';
import { createOutgoingCalls } from './outgoing-calls.ts';
import { RpcError } from './rpc-error.ts';

const isRefusal = (code: number) => (error: unknown) => error instanceof RpcError && error.code === code;

function callsWith(send: (request: JSONRPCRequest) => void = () => undefined) {
  const sent: JSONRPCRequest[] = [];
  const calls = createOutgoingCalls((request) => {
    sent.push(request);
    send(request);
  });
  return { calls, sent };
}

test('answers in any order find their calls, results as well as refusals; each once', async () => {
  const { calls, sent } = callsWith();
  const answered = [1, 2, 3].map((n) => calls.call('double', { n }, 5_000));
  const [first, second, third] = sent.map(({ id }) => id as number);
  calls.receive({ jsonrpc: '2.0', id: third!, result: 6 });
  calls.receive({ jsonrpc: '2.0', id: first!, error: { code: rpcErrors.busy, message: 'Later.' } });
  calls.receive({ jsonrpc: '2.0', id: second!, result: 4 });
  calls.receive({ jsonrpc: '2.0', id: second!, result: 5 });
  await assert.rejects(answered[0]!, isRefusal(rpcErrors.busy));
  assert.deepEqual(await Promise.all(answered.slice(1)), [4, 6]);
});

test('whatever the other side makes up as an id is nobody’s answer', async () => {
  const { calls, sent } = callsWith();
  const answered = calls.call('double', { n: 1 }, 5_000);
  for (const id of ['error', 'newListener', 'removeListener', '__proto__', 'constructor', null, -1, 0.5, 1e300, 77]) {
    calls.receive({ jsonrpc: '2.0', id, result: 'forged' });
  }
  calls.receive({ jsonrpc: '2.0', id: String(sent[0]!.id), result: 'forged' });
  calls.receive({ jsonrpc: '2.0', id: sent[0]!.id!, result: 2 });
  assert.equal(await answered, 2);
});

test('an answer that breaks the rules fails its own call, or is taken as older versions of them mean it', async () => {
  const { calls, sent } = callsWith();
  const answers: unknown[] = [
    { result: 5, error: null },
    { result: null, error: 'x' },
    { error: 7 },
    { error: {} },
    { error: { code: '1', message: 'text' } },
    { error: { code: 0.5, message: 'text' } },
    { error: { code: 1, message: null } },
  ];
  const answered = answers.map(() => calls.call('double', { n: 1 }, 5_000));
  const settled = Promise.allSettled(answered);
  for (const [index, answer] of answers.entries()) {
    calls.receive({ jsonrpc: '2.0', id: sent[index]!.id!, ...(answer as object) } as JSONRPCResponse);
  }
  const [first, ...others] = await settled;
  assert.deepEqual(first, { status: 'fulfilled', value: 5 });
  for (const other of others) assert.ok(other.status === 'rejected' && isRefusal(rpcErrors.failed)(other.reason));
});

test('a call that is not answered in time fails, and what comes late is nothing; the others wait on', async () => {
  const { calls, sent } = callsWith();
  const waits = calls.call('slow', {}, 60_000);
  await assert.rejects(calls.call('slow', {}, 1), isRefusal(rpcErrors.failed));
  calls.receive({ jsonrpc: '2.0', id: sent[1]!.id!, result: 'late' });
  calls.receive({ jsonrpc: '2.0', id: sent[0]!.id!, result: 'in time' });
  assert.equal(await waits, 'in time');
});

test('what cannot be sent fails at once; the end fails what waits', async () => {
  const { calls } = callsWith(({ method }) => {
    if (method === 'large') throw new RpcError(rpcErrors.failed, 'It is larger than a frame may be.');
  });
  await assert.rejects(calls.call('large', {}, 5_000), /larger than a frame/);
  const waits = calls.call('small', {}, 5_000);
  calls.end();
  await assert.rejects(waits, /ended/);
});

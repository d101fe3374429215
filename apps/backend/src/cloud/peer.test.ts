import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import { maxBatchCalls, rpcErrors } from '@station/protocol/cloud-rpc';
import { createPeer, type PeerParts } from './peer.ts';
import { RpcError } from './rpc-server.ts';

function peerWith(parts: Partial<PeerParts> = {}) {
  const sent: unknown[] = [];
  const messages: unknown[] = [];
  const ignored: string[] = [];
  const faults: string[] = [];
  const ran: unknown[] = [];
  const peer = createPeer({
    send: (text) => void sent.push(JSON.parse(text)),
    methods: {
      add: {
        params: Type.Object({ a: Type.Number(), b: Type.Number() }),
        run: async ({ a, b }: { a: number; b: number }, id) => {
          ran.push(id ?? null);
          return a + b;
        },
      },
      refuse: {
        params: Type.Unknown(),
        run: async () => {
          throw new RpcError(rpcErrors.deviceOffline, 'It sleeps.');
        },
      },
      repeat: {
        params: Type.Object({ length: Type.Number() }),
        run: async ({ length }: { length: number }) => '\u{1f4a1}'.repeat(length / 4),
      },
      break: {
        params: Type.Unknown(),
        run: async () => {
          throw new Error('secret detail');
        },
      },
    },
    isAuthenticated: () => true,
    onMessage: (message) => void messages.push(message),
    onIgnored: (reason) => void ignored.push(reason),
    onFault: (where, message) => void faults.push(`${where}: ${message}`),
    ...parts,
  });
  const receive = async (frame: unknown): Promise<unknown> => {
    const before = sent.length;
    await peer.receive(typeof frame === 'string' ? frame : JSON.stringify(frame));
    await new Promise((resolve) => setImmediate(resolve));
    return sent[before];
  };
  return { peer, sent, messages, ignored, faults, ran, receive };
}

const call = (method: string, params?: unknown, id: unknown = 1) => ({ jsonrpc: '2.0', id, method, params });
const errorOf = (answer: unknown): number | undefined =>
  (answer as { error?: { code: number } } | undefined)?.error?.code;

test('a call is answered under its id, whatever the type of the id', async () => {
  const { receive } = peerWith();
  for (const id of [1, 0, -1.5, 'a', '', null]) {
    assert.deepEqual(await receive(call('add', { a: 1, b: 2 }, id)), { jsonrpc: '2.0', id, result: 3 });
  }
});

test('each fault has its code, and internal errors appear only in the log', async () => {
  const { receive, faults } = peerWith();
  assert.equal(errorOf(await receive(call('sing'))), rpcErrors.unknownMethod);
  assert.equal(errorOf(await receive(call('add', { a: '1', b: 2 }))), rpcErrors.badParams);
  assert.equal(errorOf(await receive(call('add', [1, 2]))), rpcErrors.badParams);
  assert.equal(errorOf(await receive(call('refuse'))), rpcErrors.deviceOffline);
  const answer = await receive(call('break'));
  assert.equal(errorOf(answer), rpcErrors.internal);
  assert.ok(!JSON.stringify(answer).includes('secret'));
  assert.deepEqual(faults, ['a call of the cloud: secret detail']);
  assert.equal(errorOf(await receive({ jsonrpc: '2.0', id: 1 })), rpcErrors.invalidRequest);
  assert.equal(errorOf(await receive({ jsonrpc: '2.0', id: {}, method: 'add' })), rpcErrors.invalidRequest);
});

test('before the log-in every call gets -32001, also with an unknown method, and has no effect', async () => {
  const { receive, ran } = peerWith({ isAuthenticated: () => false });
  for (const method of ['add', 'sing', 'toString', '__proto__']) {
    assert.equal(errorOf(await receive(call(method, { a: 1, b: 2 }))), rpcErrors.notAuthenticated);
  }
  assert.equal(errorOf(await receive(call('add', { a: '\u0000', b: 2 }))), rpcErrors.notAuthenticated);
  assert.equal(await receive({ jsonrpc: '2.0', method: 'add', params: { a: 1, b: 2 } }), undefined);
  assert.deepEqual(ran, []);
});

test('names of JavaScript object properties are not methods or messages', async () => {
  const { receive, ignored } = peerWith();
  for (const method of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
    assert.equal(errorOf(await receive(call(method))), rpcErrors.unknownMethod);
    await receive({ type: method });
  }
  assert.deepEqual(ignored, ['unknown', 'unknown', 'unknown', 'unknown']);
});

test('a batch is answered as a batch, without answers to notifications', async () => {
  const { receive } = peerWith();
  const good = call('add', { a: 1, b: 1 }, 'x');
  assert.deepEqual(await receive([good]), [{ jsonrpc: '2.0', id: 'x', result: 2 }]);
  const mixed = (await receive([
    good,
    { jsonrpc: '2.0', method: 'add', params: { a: 1, b: 1 } },
    7,
    call('sing'),
  ])) as unknown[];
  assert.deepEqual(mixed.map(errorOf), [undefined, rpcErrors.invalidRequest, rpcErrors.unknownMethod]);
  assert.equal(errorOf(await receive(Array.from({ length: maxBatchCalls + 1 }, () => good))), rpcErrors.invalidRequest);
});

test('a frame that is neither JSON-RPC nor a known message is counted and ignored', async () => {
  const { peer, receive, ignored, sent } = peerWith();
  for (const text of [
    '',
    'hello',
    '{',
    '[]',
    '[1,2]',
    '7',
    'null',
    '"a"',
    '{}',
    '{"type":7}',
    '{"jsonrpc":"1.0","id":1,"method":"add"}',
  ]) {
    await receive(text);
  }
  await receive({ type: 'member_added' });
  await peer.receive(null);
  assert.equal(ignored.length, 13);
  assert.equal(ignored.at(-2), 'bad_shape');
  assert.deepEqual(sent, []);
});

test('an answer is ignored, because the station calls no methods: nothing is sent or counted', async () => {
  const { receive, sent, ignored } = peerWith();
  const answers = [
    { jsonrpc: '2.0', id: 1, result: 42 },
    { jsonrpc: '2.0', id: 'a', error: { code: -1, message: 'no' } },
  ];
  for (const answer of answers) await receive(answer);
  await receive(answers);
  assert.deepEqual([sent, ignored], [[], []]);
});

test('nothing is sent after the connection has ended', async () => {
  const { peer, receive, sent } = peerWith();
  peer.close();
  await receive(call('add', { a: 1, b: 2 }));
  assert.deepEqual(sent, []);
});

test('identity_sync may call its list users instead of members', async () => {
  const { receive, messages, ignored } = peerWith();
  const member = { cloudUserId: 'c', email: 'c@example.org', name: 'C', role: 'owner' };
  const sync = { type: 'identity_sync', station: { name: 'Home' }, ownerId: 'c' };
  await receive({ ...sync, users: [member] });
  await receive({ ...sync, members: [member], users: [] });
  for (const message of messages) assert.deepEqual((message as { members: unknown }).members, [member]);
  assert.equal(messages.length, 2);
  await receive(sync);
  await receive({ ...sync, users: 'nobody' });
  assert.deepEqual(ignored, ['bad_shape', 'bad_shape']);
});

test('text that a database cannot store is refused', async () => {
  const { receive, ran, ignored } = peerWith();
  assert.equal(
    errorOf(await receive('{"jsonrpc":"2.0","id":1,"method":"add","params":{"a":1,"b":2,"c":"\\u0000"}}')),
    rpcErrors.badParams,
  );
  await receive('{"type":"station_renamed","name":"x\\ud800"}');
  await receive('[{"jsonrpc":"2.0","id":1,"method":"add","params":{"a":1,"b":2,"c":"\\u0000"}}]');
  assert.deepEqual(ignored, ['bad_shape', 'bad_shape']);
  assert.deepEqual(ran, []);
});

test('too many concurrent calls are refused, not queued', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const slow = { params: Type.Unknown(), run: () => promise };
  const { receive, sent } = peerWith({ methods: { slow } });
  for (let id = 0; id < 256; id++) await receive(call('slow', {}, id));
  assert.equal(errorOf(await receive(call('slow', {}, 256))), rpcErrors.busy);
  resolve();
  await new Promise((done) => setImmediate(done));
  assert.equal(sent.length, 257);
});

test('an answer too large for a frame, or for its part of the answers to a batch, is replaced by an error', async () => {
  const mebibyte = 1_048_576;
  const texts: string[] = [];
  const { receive } = peerWith({ send: (text) => void texts.push(text) });
  const [half, whole] = [mebibyte / 2, mebibyte].map((length) => call('repeat', { length }, 'r'));
  await receive(half);
  await receive(whole);
  const eighth = call('repeat', { length: mebibyte / 8 }, 'e');
  await receive([eighth, half, call('add', { a: 1, b: 2 }, 'sum')]);
  await receive(call('sing', {}, 'x'.repeat(mebibyte - 60)));
  for (const text of texts) assert.ok(Buffer.byteLength(text) <= mebibyte);
  const [fitting, tooLarge, batch, longId] = texts.map((text) => JSON.parse(text) as unknown);
  assert.equal(errorOf(fitting), undefined);
  assert.equal(errorOf(tooLarge), rpcErrors.failed);
  assert.deepEqual((batch as unknown[]).map(errorOf), [undefined, rpcErrors.failed, undefined]);
  assert.equal(errorOf(longId), rpcErrors.internal);
});

test('calls of a batch start in order, each in its own turn, and do not wait for earlier ones to finish', async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  let turn = 0;
  const begun: { n: number; turn: number }[] = [];
  const slow = {
    params: Type.Object({ n: Type.Number() }),
    run: ({ n }: { n: number }) => {
      begun.push({ n, turn });
      return promise;
    },
  };
  const { peer, sent } = peerWith({ methods: { slow } });
  const next = (): void => {
    turn += 1;
    if (begun.length < 20) setImmediate(next);
  };
  setImmediate(next);
  await peer.receive(JSON.stringify(Array.from({ length: 20 }, (_, n) => call('slow', { n }, n))));
  assert.deepEqual(
    begun.map(({ n }) => n),
    Array.from({ length: 20 }, (_, n) => n),
  );
  assert.equal(new Set(begun.map((one) => one.turn)).size, 20);
  assert.deepEqual(sent, []);
  resolve(0);
  await new Promise((done) => setImmediate(done));
  assert.deepEqual(
    (sent as { id: number }[][])[0]?.map(({ id }) => id),
    Array.from({ length: 20 }, (_, n) => n),
  );
});

test('when the link ends during a batch, the remaining calls do not start', async () => {
  let begun = 0;
  const { peer, sent } = peerWith({
    methods: {
      last: {
        params: Type.Unknown(),
        run: async () => {
          begun += 1;
          peer.close();
        },
      },
    },
  });
  await peer.receive(JSON.stringify([call('last'), call('last'), call('last')]));
  assert.equal(begun, 1);
  assert.deepEqual(sent, []);
});

test('a call beside an answer in one batch is answered', async () => {
  const { receive } = peerWith();
  const answers = await receive([call('add', { a: 1, b: 2 }, 'sum'), { jsonrpc: '2.0', id: 1, result: 7 }]);
  assert.deepEqual(answers, [{ jsonrpc: '2.0', id: 'sum', result: 3 }]);
});

test('the next frame waits until a message is applied', async () => {
  const obeyed = Promise.withResolvers<void>();
  const { peer } = peerWith({ onMessage: () => obeyed.promise });
  const received = peer.receive('{"type":"station_reset"}');
  assert.ok(received !== undefined);
  let isOver = false;
  void received.then(() => (isOver = true));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isOver, false);
  obeyed.resolve();
  await received;
});

test('ids come back with the same digits, and no number within the parameters loses one', async () => {
  const texts: string[] = [];
  const given: unknown[] = [];
  const echo = {
    params: Type.Unknown(),
    run: async (params: unknown) => {
      given.push(params);
      return 'ok';
    },
  };
  const { peer, ran } = peerWith({ send: (text) => void texts.push(text), methods: { echo } });
  const ask = async (text: string): Promise<string | undefined> => {
    texts.length = 0;
    await peer.receive(text);
    await new Promise((resolve) => setImmediate(resolve));
    return texts[0];
  };
  const ids = ['9007199254740993', '-9007199254740993', '18446744073709551615', '1732579200123456789', '0', '7', '1.5'];
  ids.push('1.0', '1e3', '-0', '0.12345678901234567890', '1e400', '"exact-1:5"', '"9007199254740993"', 'null');
  for (const id of ids) {
    const answer = `{"jsonrpc":"2.0","id":${id},"result":"ok"}`;
    assert.equal(await ask(`{"jsonrpc":"2.0","method":"echo","id":${id}}`), answer, id);
    const refused = await ask(`{"jsonrpc":"2.0","method":"none","id":${id}}`);
    assert.ok(refused?.includes(`"id":${id},`) === true, refused ?? 'nothing');
  }
  const two = ['9007199254740992', '9007199254740993'].map((id) => `{"jsonrpc":"2.0","method":"echo","id":${id}}`);
  assert.deepEqual(
    await ask(`[${two.join(',')}]`),
    '[{"jsonrpc":"2.0","id":9007199254740992,"result":"ok"},{"jsonrpc":"2.0","id":9007199254740993,"result":"ok"}]',
  );
  given.length = 0;
  await ask('{"jsonrpc":"2.0","id":1,"method":"echo","params":{"id":9007199254740993,"a":[1e20,0.5],"b":1e999}}');
  assert.deepEqual(given, [{ id: '9007199254740993', a: [1e20, 0.5], b: '1e999' }]);
  assert.deepEqual(ran, []);
});

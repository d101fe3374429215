import assert from 'node:assert/strict';
import { test } from 'node:test';
import { uploadPieceBytes } from '@station/protocol/backup-upload';
import { uploadFile } from './upload.ts';

const id = 'x'.repeat(43);

function station(fail: (call: number) => Response | Error | null) {
  const pieces = new Map<number, number>();
  let calls = 0;
  const fetchImpl = (async (path: string, { body }: { body: Blob }) => {
    const failed = fail(++calls);
    if (failed instanceof Error) throw failed;
    if (failed) return failed;
    pieces.set(Number(new URLSearchParams(path.split('?')[1]).get('offset')), body.size);
    return new Response('{}');
  }) as unknown as typeof fetch;
  return { pieces, fetchImpl, sleep: async () => undefined };
}

test('a file goes in pieces, in order, and a lost answer is repeated', async () => {
  const file = new Blob([new Uint8Array(2 * uploadPieceBytes + 5)]);
  const { pieces, ...parts } = station((call) =>
    call === 2 ? new Error('lost') : call === 3 ? new Response('', { status: 502 }) : null,
  );
  const told: number[] = [];
  const begun: number[] = [];
  const begin = async (bytes: number) => (begun.push(bytes), { id });
  assert.equal(await uploadFile({ file, begin, onProgress: (sent) => told.push(sent), ...parts }), id);
  assert.deepEqual(
    [...pieces],
    [
      [0, uploadPieceBytes],
      [uploadPieceBytes, uploadPieceBytes],
      [2 * uploadPieceBytes, 5],
    ],
  );
  assert.deepEqual(begun, [file.size]);
  assert.equal(told.at(-1), file.size);
});

test('a refusal is not repeated; an outage ends after some tries', async () => {
  const file = new Blob(['backup']);
  const begin = async () => ({ id });
  const refused = station(() => Response.json({ code: 'not_found' }, { status: 404 }));
  await assert.rejects(uploadFile({ file, begin, onProgress: () => undefined, ...refused }), { code: 'not_found' });
  const away = station(() => new Error('away'));
  await assert.rejects(uploadFile({ file, begin, onProgress: () => undefined, ...away }), { code: 'no_answer' });
});

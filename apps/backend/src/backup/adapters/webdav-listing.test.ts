import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AnswerRefusedError } from './limited-fetch.ts';
import { filesOf } from './webdav-listing.ts';

const folder = new URL('https://nas.example/remote.php/dav/files/anna%40example.org/%5BBackups%5D/5b6e-4/');
const file = 'station-x-20260101T000000Z.age';
const right = [{ name: file, bytes: 7 }];

const entry = (href: string, prop = '<d:resourcetype/><d:getcontentlength>7</d:getcontentlength>'): string =>
  `<d:response><d:href>${href}</d:href><d:propstat><d:prop>${prop}</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>`;
const list = (...entries: string[]): string =>
  `<?xml version="1.0"?><d:multistatus xmlns:d="DAV:">${entries.join('')}</d:multistatus>`;

test('addresses of files are understood in every form in which servers write them', async () => {
  for (const href of [
    `/remote.php/dav/files/anna%40example.org/%5BBackups%5D/5b6e-4/${file}`,
    `/remote.php/dav/files/anna@example.org/[Backups]/5b6e-4/${file}`,
    `/remote.php/dav/files/anna%40example.org/%5bBackups%5d/5b6e%2d4/${file.replaceAll('-', '%2D')}`,
    `https://nas.example/remote.php/dav/files/anna@example.org/%5BBackups%5D/5b6e-4/${file}`,
    `http://10.0.0.2:8080/files/5b6e-4/${file}`,
    `/files//5b6e-4//${file}`,
    `/H%E4user/5b6e-4/${file}`,
    `http://127.0.0.1:18205/50% neu#2? [alt]/5b6e-4/${file}`,
    `/50% neu#2?/5b6e-4/${file}`,
    `\n   /x/5b6e-4/${file}\n`,
    `<![CDATA[/x/5b6e-4/${file}]]>`,
    `&#47;x&#x2f;5b6e-4&#x2F;${file.replaceAll('-', '&#45;')}`,
    file,
    `./${file}`,
  ])
    assert.deepEqual(
      await filesOf(list(entry('/x/5b6e-4/', '<d:resourcetype><d:collection/></d:resourcetype>'), entry(href)), folder),
      right,
      href,
    );
});

test('properties may come in parts, without a status, or in another namespace prefix', async () => {
  const href = `<D:href>/5b6e-4/${file}</D:href>`;
  const part = (prop: string, status: string): string =>
    `<D:propstat><D:prop>${prop}</D:prop>${status && `<D:status>${status}</D:status>`}</D:propstat>`;
  const size = '<lp1:getcontentlength xmlns:lp1="DAV:">7</lp1:getcontentlength>';
  for (const parts of [
    part('<D:quota/>', 'HTTP/1.1 404 Not Found') + part(`${size}<D:resourcetype/>`, 'HTTP/1.1 200 OK'),
    part('<D:resourcetype/>', '200 OK') + part(size, 'HTTP/2 200') + part('<D:getcontentlength/>', '404 Not Found'),
    part(size, ''),
  ])
    assert.deepEqual(
      await filesOf(`<D:multistatus xmlns:D="DAV:"><D:response>${href}${parts}</D:response></D:multistatus>`, folder),
      right,
    );
});

test('folders, files of other folders and what has no size are no files of this one', async () => {
  const text = list(
    entry('/x/5b6e-4/', '<d:resourcetype><d:collection/></d:resourcetype>'),
    entry('/x/5b6e-4/inner', '<d:resourcetype><d:collection xmlns:d="DAV:"/></d:resourcetype>'),
    entry(`/x/5b6e-4/a/../../${file}`),
    entry(`/x/5b6e-4/..%2f..%2fescape.age`),
    entry(`/x/other/${file}`),
  );
  assert.deepEqual(await filesOf(text, folder), [{ name: '../../escape.age', bytes: 7 }]);
  assert.deepEqual(await filesOf('<d:multistatus xmlns:d="DAV:"/>', folder), []);
  const sizeless = await filesOf(list(entry(`/5b6e-4/${file}`, '<d:resourcetype/>')), folder);
  assert.equal(Number.isNaN(sizeless[0]?.bytes), true);
});

test('what is no listing is refused', async () => {
  for (const text of ['', 'hello', '<html><body>Log in</body></html>', '<d:multistatus>'.repeat(9_000)])
    await assert.rejects(filesOf(text, folder), AnswerRefusedError);
});

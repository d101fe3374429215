import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { Decrypter, Encrypter } from 'age-encryption';
import { decryptAge, encryptAge } from './age.ts';
import { BackupRefused } from './backup-refused.ts';

const passphrase = 'correct horse battery staple';
/** Fast: 1 MiB of memory. */
const workFactor = 10;
const chunk = 64 * 1024;

async function* inPieces(bytes: Uint8Array, size = 50_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
const gather = async (parts: AsyncIterable<Uint8Array>): Promise<Buffer> => Buffer.concat(await Array.fromAsync(parts));
const encrypt = (plain: Uint8Array): Promise<Buffer> => gather(encryptAge(inPieces(plain), passphrase, workFactor));
const decrypt = (sealed: Uint8Array, word = passphrase): Promise<Buffer> =>
  gather(decryptAge(inPieces(sealed, 777), word));
const reasonOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof BackupRefused ? error.reason : String(error)),
  );

const sizes = [0, 1, chunk - 1, chunk, chunk + 1, 3 * chunk, 200_000];

test('another implementation of age opens what is written here, at every border of its chunks', async () => {
  for (const size of sizes) {
    const plain = randomBytes(size);
    const other = new Decrypter();
    other.addPassphrase(passphrase);
    assert.deepEqual(Buffer.from(await other.decrypt(await encrypt(plain))), plain, `${size} bytes`);
  }
});

test('what another implementation of age wrote is opened', async () => {
  for (const size of sizes) {
    const plain = randomBytes(size);
    const other = new Encrypter();
    other.setPassphrase(passphrase);
    other.setScryptWorkFactor(workFactor);
    assert.deepEqual(await decrypt(await other.encrypt(plain)), plain, `${size} bytes`);
  }
});

test('a wrong passphrase is told from a damaged file', async () => {
  const sealed = await encrypt(randomBytes(1000));
  assert.equal(await reasonOf(decrypt(sealed, 'correct horse battery stapler')), 'passphrase_wrong');
});

test('a file that ends anywhere too early is refused', async () => {
  const sealed = await encrypt(randomBytes(2 * chunk + 10));
  const header = sealed.indexOf('\n---') + 49;
  const ends = [30, header - 10, header, header + 8, header + 16 + chunk, header + 16 + chunk + 16, sealed.length - 1];
  for (const end of ends) {
    assert.equal(await reasonOf(decrypt(sealed.subarray(0, end))), 'incomplete', `${end} of ${sealed.length} bytes`);
  }
});

test('one altered bit anywhere is noticed', async () => {
  const sealed = await encrypt(randomBytes(2 * chunk + 10));
  const places = Array.from({ length: 60 }, (_, index) => Math.floor((index * sealed.length) / 60));
  for (const at of [...places, sealed.length - 1]) {
    const altered = Buffer.from(sealed);
    altered[at] = (altered[at] ?? 0) ^ 1;
    assert.notEqual(await reasonOf(decrypt(altered)), 'none', `byte ${at}`);
  }
});

test('chunks that were swapped, repeated or appended are noticed', async () => {
  const sealed = await encrypt(randomBytes(4 * chunk));
  const start = sealed.length - 4 * (chunk + 16);
  const at = (index: number): Buffer =>
    sealed.subarray(start + index * (chunk + 16), start + (index + 1) * (chunk + 16));
  const head = sealed.subarray(0, start);
  const orders = [
    [1, 0, 2, 3],
    [0, 0, 1, 2, 3],
    [0, 1, 2, 3, 3],
  ];
  for (const order of orders) {
    assert.equal(await reasonOf(decrypt(Buffer.concat([head, ...order.map(at)]))), 'damaged', order.join());
  }
});

test('other files are not taken for a backup', async () => {
  const others = ['', 'SQLite format 3\0', 'age-encryption.org/v2\n-> scrypt', 'x'.repeat(5000)];
  for (const text of others)
    assert.equal(await reasonOf(decrypt(Buffer.from(text))), 'not_recognised', text.slice(0, 20));
});

test('a file that would take all memory is not tried', async () => {
  const sealed = (await encrypt(randomBytes(10))).toString('latin1').replace(` ${workFactor}\n`, ' 30\n');
  assert.equal(await reasonOf(decrypt(Buffer.from(sealed, 'latin1'))), 'not_recognised');
});

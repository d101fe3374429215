import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  scrypt as scryptWithCallback,
  timingSafeEqual,
} from 'node:crypto';
import { promisify } from 'node:util';
import { BackupRefused } from './backup-refused.ts';
import { createByteReader, type ByteReader } from '@station/kit/byte-reader';

/**
 * The age format, version 1, with a passphrase (C2SP specification `age.md`): any `age` program opens what is written here, and the
 * other way round. A test exchanges files with the `age-encryption` package. Only Node's cryptography is used, see ADR 35.
 */

const versionLine = 'age-encryption.org/v1';
const scryptLabel = 'age-encryption.org/v1/scrypt';
const keyBytes = 16;
const saltBytes = 16;
const payloadNonceBytes = 16;
const tagBytes = 16;
const chunkBytes = 64 * 1024;
const maxLineBytes = 1024;

/** 2^16 rounds of 1 KiB: 64 MiB for about half a second on a small board. */
const ownWorkFactor = 16;
/** The 256 MiB that the `age` program takes would not fit beside the backend in its container. */
const maxWorkFactor = ownWorkFactor;

/** @param workFactor of scrypt: the logarithm of its rounds; each needs 1 KiB of memory. */
export async function* encryptAge(
  plain: AsyncIterable<Uint8Array>,
  passphrase: string,
  workFactor: number = ownWorkFactor,
): AsyncGenerator<Buffer> {
  const fileKey = randomBytes(keyBytes);
  const salt = randomBytes(saltBytes);
  const wrapped = seal(await passphraseKey(passphrase, salt, workFactor), Buffer.alloc(12), fileKey);
  const header = `${versionLine}\n-> scrypt ${base64(salt)} ${workFactor}\n${base64(wrapped)}\n---`;
  yield Buffer.from(`${header} ${base64(headerMac(fileKey, header))}\n`);
  const nonce = randomBytes(payloadNonceBytes);
  yield nonce;
  const key = payloadKey(fileKey, nonce);
  await using reader = createByteReader(plain);
  let chunk = await reader.read(chunkBytes);
  for (let counter = 0; ; counter++) {
    const next = chunk.length < chunkBytes ? Buffer.alloc(0) : await reader.read(chunkBytes);
    yield seal(key, chunkNonce(counter, next.length === 0), chunk);
    if (next.length === 0) return;
    chunk = next;
  }
}

/**
 * @throws BackupRefused `passphrase_wrong`, `not_recognised`, `damaged` or `incomplete`. What was returned
 *   before an error is authentic, but not complete.
 */
export async function* decryptAge(sealed: AsyncIterable<Uint8Array>, passphrase: string): AsyncGenerator<Buffer> {
  await using reader = createByteReader(sealed);
  const fileKey = await readHeader(reader, passphrase);
  const nonce = await reader.read(payloadNonceBytes);
  if (nonce.length < payloadNonceBytes) throw incomplete();
  const key = payloadKey(fileKey, nonce);
  const sealedBytes = chunkBytes + tagBytes;
  let chunk = await reader.read(sealedBytes);
  for (let counter = 0; ; counter++) {
    const next = chunk.length < sealedBytes ? Buffer.alloc(0) : await reader.read(sealedBytes);
    const isLast = next.length === 0;
    const plain = open(key, chunkNonce(counter, isLast), chunk);
    if (plain === null) throw whyUnreadable(key, counter, chunk, isLast);
    // Only an empty file has an empty last chunk.
    if (plain.length === 0 && counter > 0) throw damaged();
    yield plain;
    if (isLast) return;
    chunk = next;
  }
}

function whyUnreadable(key: Buffer, counter: number, chunk: Buffer, isLast: boolean): BackupRefused {
  // Inside a whole file every chunk but the last is full, so a shorter one was cut.
  if (isLast && (chunk.length < chunkBytes + tagBytes || open(key, chunkNonce(counter, false), chunk) !== null)) {
    return incomplete();
  }
  return damaged();
}

async function readHeader(reader: ByteReader, passphrase: string): Promise<Buffer> {
  const version = await readLine(reader, 'not_recognised');
  if (version !== versionLine) throw notRecognised();
  const stanza = await readLine(reader, 'incomplete');
  const match = /^-> scrypt ([A-Za-z0-9+/]{22}) ([1-9][0-9]?)$/.exec(stanza);
  if (match === null) throw notRecognised();
  const [, saltText = '', workFactorText = ''] = match;
  const wrapped = await readLine(reader, 'incomplete');
  const end = await readLine(reader, 'incomplete');
  const mac = /^--- ([A-Za-z0-9+/]{43})$/.exec(end)?.[1];
  if (mac === undefined || !/^[A-Za-z0-9+/]{43}$/.test(wrapped)) throw damaged();
  const workFactor = Number(workFactorText);
  if (workFactor > maxWorkFactor) throw notRecognised();
  const key = await passphraseKey(passphrase, Buffer.from(saltText, 'base64'), workFactor);
  const fileKey = open(key, Buffer.alloc(12), Buffer.from(wrapped, 'base64'));
  if (fileKey === null) {
    throw new BackupRefused('passphrase_wrong');
  }
  const header = [version, stanza, wrapped, '---'].join('\n');
  if (!timingSafeEqual(headerMac(fileKey, header), Buffer.from(mac, 'base64'))) throw damaged();
  return fileKey;
}

async function readLine(reader: ByteReader, otherwise: 'not_recognised' | 'incomplete'): Promise<string> {
  const line = await reader.readTo(0x0a, maxLineBytes);
  if (line === null) throw otherwise === 'incomplete' ? incomplete() : notRecognised();
  return line.toString('latin1').slice(0, -1);
}

const notRecognised = (): BackupRefused => new BackupRefused('not_recognised');
const incomplete = (): BackupRefused => new BackupRefused('incomplete');
const damaged = (): BackupRefused => new BackupRefused('damaged');

const scrypt = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(
  scryptWithCallback,
);

function passphraseKey(passphrase: string, salt: Buffer, workFactor: number): Promise<Buffer> {
  const rounds = 2 ** workFactor;
  const salted = Buffer.concat([Buffer.from(scryptLabel), salt]);
  return scrypt(passphrase, salted, 32, { N: rounds, r: 8, p: 1, maxmem: 2 * 1024 * rounds });
}

const headerMac = (fileKey: Buffer, header: string): Buffer =>
  createHmac('sha256', Buffer.from(hkdfSync('sha256', fileKey, '', 'header', 32)))
    .update(header)
    .digest();

const payloadKey = (fileKey: Buffer, nonce: Buffer): Buffer =>
  Buffer.from(hkdfSync('sha256', fileKey, nonce, 'payload', 32));

/** Eleven bytes of a counter, and one that marks the last chunk. */
function chunkNonce(counter: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntBE(counter, 5, 6);
  nonce[11] = isLast ? 1 : 0;
  return nonce;
}

function seal(key: Buffer, nonce: Buffer, plain: Buffer): Buffer {
  const cipher = createCipheriv('chacha20-poly1305', key, nonce, { authTagLength: tagBytes });
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Null when it is not authentic. */
function open(key: Buffer, nonce: Buffer, sealed: Buffer): Buffer | null {
  if (sealed.length < tagBytes) return null;
  const decipher = createDecipheriv('chacha20-poly1305', key, nonce, { authTagLength: tagBytes });
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, -tagBytes)), decipher.final()]);
  } catch {
    // final() only throws when the tag does not match.
    return null;
  }
}

const base64 = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');

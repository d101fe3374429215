import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { ReadStream } from 'node:tty';

/** Asks on the terminal, without showing what is typed. @returns null when there is no terminal, or it was interrupted. */
export async function askSecret(question: string): Promise<string | null> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY || !stderr.isTTY) return null;
  stderr.write(question);
  stdin.setRawMode(true);
  try {
    return await readTyped(stdin);
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write('\n');
  }
}

async function readTyped(stdin: ReadStream): Promise<string | null> {
  let typed = '';
  for await (const chunk of stdin.iterator({ destroyOnReturn: false })) {
    for (const character of (chunk as Buffer).toString('utf8')) {
      if (character === '\r' || character === '\n') return typed;
      if (character === '\x03' || character === '\x04') return null;
      typed = character === '\x7f' || character === '\b' ? typed.slice(0, -1) : typed + character;
    }
  }
  return typed;
}

const maxSecretBytes = 4096;

/** The first line of a file or of an open file descriptor. @throws the file system's error. */
export async function readSecret(from: { file: string } | { descriptor: number }): Promise<string> {
  if ('file' in from) return firstLine(await readFile(from.file, 'utf8'));
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of createReadStream('', { fd: from.descriptor })) {
    chunks.push(chunk as Buffer);
    size += (chunk as Buffer).length;
    if (size > maxSecretBytes) break;
  }
  return firstLine(Buffer.concat(chunks).toString('utf8'));
}

const firstLine = (text: string): string => text.split(/\r?\n/, 1)[0] ?? '';
